"""Two images from the unmodified Dockerfile, unpacked: the one that is deployed, and the same with transformers added.

Built with buildah, on the stand-in for the base image; knows not what is measured on them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from local.images import chroot_run, layers
from local.images.oci import ImageConfig
from local.images.paths import ROOT, Cache
from local.images.reference import Reference
from local.images.store import ImageStore

ADDED_FOLDERS = ("opt/venv", "opt/decision")  # all that the Dockerfile writes
_BASE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64  # named, never pulled


@dataclass(frozen=True, kw_only=True)
class UnpackedImage:
    """bytes_added: of its layers without the base's; bytes_of_base: of the stand-in's one layer. Compressed, as a
    registry holds them. bytes_of_files: of the files that the image adds, as they lie on a disk."""

    config: ImageConfig
    root: Path
    digest: str
    bytes_added: int
    bytes_of_base: int
    bytes_of_files: int

    @property
    def command(self) -> list[str]:
        return [*chroot_run.command(self.config, self.root), "serve"]


def build_both(folder: Path) -> tuple[UnpackedImage, UnpackedImage]:
    """Ours, then the one with transformers. `folder` gets their files."""
    return (
        _build(folder / "ours", requirements=ROOT / "container/requirements.txt"),
        _build(folder / "with-transformers", requirements=ROOT / "benchmarks/requirements-transformers.txt"),
    )


def _build(folder: Path, *, requirements: Path) -> UnpackedImage:
    """The source but for the lock of its packages, as the image's build gets it."""
    shutil.copytree(ROOT / "container", folder / "container", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(requirements, folder / "container/requirements.txt")
    name = f"example.com/benchmark:{folder.name}"
    subprocess.run(
        [
            str(ROOT / "local/bin/docker"), "build", "--provenance=false", "--sbom=false", "--platform", "linux/amd64",
            "--target", "cpu", "--build-arg", f"BASE_IMAGE={_BASE}", "--build-arg", "SOURCE_DATE_EPOCH=315532800",
            "-t", name, "-f", "container/Dockerfile", "container",
        ],
        cwd=folder,
        env={**os.environ, "LOCAL_IMAGE_MODE": "buildah"},
        stdout=sys.stderr,
        check=True,
    )  # fmt: skip
    store = ImageStore(Cache(folder=ROOT / ".cache").image_store)
    image = store.get(Reference.parse(name))
    for layer in image.manifest.layers:
        layers.unpack(store.blob(layer.digest), folder / "root")
    base, *added = (layer.size for layer in image.manifest.layers)
    return UnpackedImage(
        config=store.image_config(image),
        root=folder / "root",
        digest=image.digest,
        bytes_added=sum(added),
        bytes_of_base=base,
        bytes_of_files=sum(_bytes_below(folder / "root" / name) for name in ADDED_FOLDERS),
    )


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
