"""Pulled images as folders on this disk, by digest. The last few stay, and those that run; older ones are removed.

Whoever runs an image holds a shared lock on it; who pulls or removes one needs the lock alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.images import layers
from local.images.oci import Manifest
from local.images.reference import Reference
from local.images.registry import Registry

KEPT = 3  # an image that buildah made takes about 240 MB


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """folder holds config.json and root/. release: to be called when nobody runs it any more."""

    folder: Path
    release: Callable[[], None]


def unpacked(reference: Reference, registry: Registry, images: Path) -> Unpacked:
    """Pulls what is not there. Raises ImageError for a tag or a wrong digest."""
    folder = images / reference.pinned.removeprefix("sha256:")
    images.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while True:
            # Shared first: an image that is there may run already, and whoever runs it keeps its share.
            fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.exists():
                break
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _pull(reference, registry, folder)
            # From here to the share is not one step: another process may remove the folder in between.
        os.utime(folder.with_suffix(".lock"))
        _remove_old(images)
    except BaseException:
        os.close(lock)
        raise
    return Unpacked(folder=folder, release=lambda: os.close(lock))


def _remove_old(images: Path) -> None:
    found = [path for path in images.iterdir() if not path.suffix and path.with_suffix(".lock").exists()]
    found.sort(key=lambda path: path.with_suffix(".lock").stat().st_mtime, reverse=True)
    for folder in found[KEPT:]:
        # One that is locked runs, here or in another emulator of this checkout.
        with folder.with_suffix(".lock").open("r+") as lock, contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Never a part of an image under its name, even when the removal is interrupted.
            os.replace(folder, folder.with_suffix(".removed"))
    for folder in images.glob("*.removed"):
        shutil.rmtree(folder, ignore_errors=True)


def _pull(reference: Reference, registry: Registry, folder: Path) -> None:
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a pull that was killed
    partial.mkdir()
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
