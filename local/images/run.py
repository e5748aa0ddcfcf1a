"""An image of the emulator's registry → the command that runs its entry point on this machine.

Used by the emulator when an endpoint starts. The image is named by digest; what is unpacked is kept under that digest.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from local.images import chroot_run, layers, standard_image, venv_runtime
from local.images.errors import ImageError
from local.images.oci import ImageConfig, Manifest
from local.images.paths import Cache
from local.images.reference import Reference
from local.images.registry import Registry

RUNTIME_LABEL = "decision.runtime"


@dataclass(frozen=True, kw_only=True)
class RunnableImage:
    """`command` is the image's entry point; `env` is complete but for what belongs to one endpoint."""

    command: list[str]
    env: dict[str, str]
    cwd: Path


def prepare(image_uri: str, *, endpoint_url: str, cache_dir: Path) -> RunnableImage:
    """Pulls and unpacks, or finds it unpacked. Raises ImageError for a tag, a wrong digest, an image made elsewhere."""
    reference = Reference.parse(image_uri)
    cache = Cache(folder=cache_dir)
    folder = cache.unpacked_images / reference.pinned.removeprefix("sha256:")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _pull(reference, Registry(endpoint_url=endpoint_url, reference=reference), folder)
    config = ImageConfig.read((folder / "config.json").read_bytes())
    root = folder / "root"
    match config.labels.get(RUNTIME_LABEL):
        case "venv":
            return _in_environment(config, root, cache)
        case "chroot":
            command = chroot_run.command(config, root)
            return RunnableImage(command=command, env=dict(config.environment), cwd=folder)
        case standard_image.RUNTIME:
            command = standard_image.command(config, root)
            return RunnableImage(
                command=command, env=dict(config.environment), cwd=root / config.working_directory.lstrip("/")
            )
        case other:
            raise ImageError(
                f"image {image_uri}: label {RUNTIME_LABEL} is {other!r}; images of local/bin/docker run here, no others"
            )


def _in_environment(config: ImageConfig, root: Path, cache: Cache) -> RunnableImage:
    folder = root / config.working_directory.lstrip("/")
    runtime = venv_runtime.make(folder / "requirements.txt", cache=cache, say=print)
    program, *arguments = config.entrypoint
    return RunnableImage(
        command=[str(runtime.python), str(root / program.lstrip("/")), *arguments],
        env={**config.environment, **runtime.environment},
        cwd=folder,
    )


def _pull(reference: Reference, registry: Registry, folder: Path) -> None:
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix="partial-"))
    try:
        manifest = Manifest.read(registry.pull_manifest(reference.pinned))
        registry.pull_blob(manifest.config.digest, partial / "config.json")
        for layer in manifest.layers:
            registry.pull_blob(layer.digest, partial / "layer")
            layers.unpack(partial / "layer", partial / "root")
            (partial / "layer").unlink()
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
