"""One file of an image in the local store, read without running anything: what `docker run … cat FILE` prints."""

from __future__ import annotations

import tarfile

from local.images.errors import ImageError
from local.images.store import ImageStore, StoredImage


def read(store: ImageStore, image: StoredImage, path: str) -> bytes:
    """From the uppermost layer that has it. Raises ImageError where none has a regular file of this name."""
    name = path.lstrip("/")
    for layer in reversed(image.manifest.layers):
        with tarfile.open(store.blob(layer.digest), mode="r:*") as archive:
            for member in archive:
                if (
                    member.name.removeprefix("./").lstrip("/") == name
                    and member.isreg()
                    and (file := archive.extractfile(member))
                ):
                    return file.read()
    raise ImageError(f"{image.reference}: no file {path} in this image")
