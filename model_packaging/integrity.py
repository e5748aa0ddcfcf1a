"""Sizes, hashes and free space of files. The one place that decides whether bytes are the declared ones."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from .errors import PackagingError, UnavailableError
from .gguf_header import check_magic
from .gguf_stream import Readable
from .progress import progress

CHUNK = 1 << 20
_SPARE_BYTES = 64 << 20


class HashingReader:
    """Passes reads through, counting and hashing what went by."""

    def __init__(self, stream: Readable, on_bytes: Callable[[int], None] | None = None) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self._on_bytes = on_bytes
        self.bytes = 0

    def read(self, size: int = CHUNK, /) -> bytes:
        data = self._stream.read(size)
        self._hash.update(data)
        self.bytes += len(data)
        if self._on_bytes is not None:
            self._on_bytes(len(data))
        return data

    def drain(self) -> None:
        while self.read(CHUNK):
            pass

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def file_sha256(path: Path, *, label: str) -> str:
    with path.open("rb") as stream, progress(label, path.stat().st_size) as advance:
        reader = HashingReader(stream, advance)
        reader.drain()
        return reader.sha256


def check_weights(path: Path, *, size: int, sha256: str, where: str) -> None:
    """Raises PackagingError unless `path` holds exactly the declared bytes of a GGUF."""
    with path.open("rb") as stream:
        check_magic(stream.read(4), where)
    actual = path.stat().st_size
    if actual != size:
        raise PackagingError(f"{where}: bytes: {actual} came; {size} declared")
    digest = file_sha256(path, label="checking sha256")
    if digest != sha256:
        raise PackagingError(f"{where}: sha256: {digest} came; {sha256} declared")


def require_free_space(folder: Path, needed: int, what: str) -> None:
    """Raises UnavailableError before work starts that cannot end well. needed: bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise UnavailableError(
            f"{folder}: {free} bytes free; {what} needs {needed} and {_SPARE_BYTES} to spare. Free some space or "
            "choose another folder with --output or --cache-dir"
        )
