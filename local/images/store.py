"""Built images on this disk: blobs by digest, references to manifests. Knows files, not registries or builds."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from local.images.errors import ImageError
from local.images.oci import ImageConfig, Manifest
from local.images.reference import Reference, digest_of


@dataclass(frozen=True, kw_only=True)
class StoredImage:
    reference: Reference
    digest: str
    manifest_bytes: bytes
    media_type: str
    pushed: bool

    @property
    def manifest(self) -> Manifest:
        return Manifest.read(self.manifest_bytes)


class ImageStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def blob(self, digest: str) -> Path:
        return self._folder / "blobs" / "sha256" / digest.removeprefix("sha256:")

    def put(self, content: bytes) -> str:
        digest = digest_of(content)
        if not self.blob(digest).exists():
            with self._incoming() as path:
                path.write_bytes(content)
                self._adopt(path, digest)
        return digest

    @contextmanager
    def as_oci_layout(self) -> Iterator[Path]:
        """The store as a folder that other tools write an image into, `oci:<folder>:<name>`; its index is empty."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "index.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (self._folder / "index.json").unlink(missing_ok=True)
            yield self._folder

    def tag(self, reference: Reference, *, digest: str, media_type: str, pushed: bool = False) -> None:
        content = json.dumps({"digest": digest, "mediaType": media_type, "pushed": pushed})
        target = self._reference_file(reference)
        target.parent.mkdir(parents=True, exist_ok=True)
        with self._incoming() as path:
            path.write_text(content)
            os.replace(path, target)

    def get(self, reference: Reference) -> StoredImage:
        """Raises ImageError when it is not there."""
        image = self.find(reference)
        if image is None:
            raise ImageError(f"image {reference}: not in the local store. Remedy: docker build -t {reference} …")
        return image

    def find(self, reference: Reference) -> StoredImage | None:
        path = self._reference_file(reference)
        if not path.exists():
            return None
        entry = json.loads(path.read_text())
        return StoredImage(
            reference=reference,
            digest=entry["digest"],
            manifest_bytes=self.blob(entry["digest"]).read_bytes(),
            media_type=entry["mediaType"],
            pushed=entry["pushed"],
        )

    def config(self, image: StoredImage) -> bytes:
        return self.blob(image.manifest.config.digest).read_bytes()

    def image_config(self, image: StoredImage) -> ImageConfig:
        return ImageConfig.read(self.config(image))

    def _reference_file(self, reference: Reference) -> Path:
        return self._folder / "references" / quote(str(reference), safe="")

    @contextmanager
    def _incoming(self) -> Iterator[Path]:
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder, prefix="incoming-")
        os.close(handle)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def _adopt(self, path: Path, digest: str) -> None:
        target = self.blob(digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
