"""Container images without Docker: built, pushed and run on a laptop. Standard library alone.

`prepare` is for the emulator, `docker_command` for `local/bin/docker`.
"""

from local.images.run import RunnableImage, prepare

__all__ = ["RunnableImage", "prepare"]
