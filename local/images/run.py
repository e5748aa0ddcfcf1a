"""An image of the emulator's registry → the command that runs its entry point on this machine.

Used by the emulator when an endpoint starts. The image is named by digest; what is unpacked is kept under that
digest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.images import chroot_run, standard_image, venv_runtime
from local.images.errors import ImageError
from local.images.oci import ImageConfig
from local.images.paths import Cache
from local.images.reference import Reference
from local.images.registry import Registry
from local.images.unpacked import Unpacked, unpacked

RUNTIME_LABEL = "decision.runtime"


@dataclass(frozen=True, kw_only=True)
class RunnableImage:
    """`command` is the image's entry point; `env` is complete but for what belongs to one endpoint.

    release: to be called when it runs no more; until then what is unpacked stays.
    """

    command: list[str]
    env: dict[str, str]
    cwd: Path
    release: Callable[[], None]


def prepare(image_uri: str, *, endpoint_url: str, cache_dir: Path) -> RunnableImage:
    """Pulls and unpacks, or finds it unpacked. Raises ImageError for a tag, a wrong digest, an image made elsewhere."""
    reference = Reference.parse(image_uri)
    cache = Cache(folder=cache_dir)
    image = unpacked(reference, Registry(endpoint_url=endpoint_url, reference=reference), cache.unpacked_images)
    try:
        return _runnable(image_uri, image, cache)
    except BaseException:
        image.release()
        raise


def _runnable(image_uri: str, image: Unpacked, cache: Cache) -> RunnableImage:
    config = ImageConfig.read((image.folder / "config.json").read_bytes())
    root = image.folder / "root"
    folder = root / config.working_directory.lstrip("/")
    match config.labels.get(RUNTIME_LABEL):
        case "venv":
            runtime = venv_runtime.make(folder / "requirements.txt", cache=cache, say=print)
            program, *arguments = config.entrypoint
            command = [str(runtime.python), str(root / program.lstrip("/")), *arguments]
            environment, place = {**config.environment, **runtime.environment}, folder
        case "chroot":
            command, environment, place = chroot_run.command(config, root), dict(config.environment), image.folder
        case standard_image.RUNTIME:
            command, environment, place = standard_image.command(config, root), dict(config.environment), folder
        case other:
            raise ImageError(
                f"image {image_uri}: label {RUNTIME_LABEL} is {other!r}; images of local/bin/docker run here, no others"
            )
    return RunnableImage(command=command, env=environment, cwd=place, release=image.release)
