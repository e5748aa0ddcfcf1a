"""Container images without Docker: build, push and run them on a laptop. Standard library alone; see `prepare` and `bin/docker`."""

from local.images.run import RunnableImage, prepare

__all__ = ["RunnableImage", "prepare"]
