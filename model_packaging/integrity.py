"""Sizes and hashes of files. The one place that decides whether bytes are the declared ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from .errors import PackagingError
from .gguf_stream import Readable
from .gguf_tables import LFS_POINTER, POINTER_REMEDY, check_magic
from .pinned import PinnedFile
from .progress import progress

CHUNK = 1 << 20


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


def check_start(path: Path, wanted: PinnedFile, where: str, *, pointer_remedy: str = POINTER_REMEDY) -> None:
    """Raises PackagingError for a Git LFS pointer, and for anything but a GGUF where one is wanted.

    pointer_remedy: what mends a pointer that came from there.
    """
    with path.open("rb") as stream:
        start = stream.read(len(LFS_POINTER))
    if wanted.is_gguf or start == LFS_POINTER:
        check_magic(start[:4], where, pointer_remedy=pointer_remedy)


def check_pinned(path: Path, wanted: PinnedFile, *, where: str) -> None:
    """Raises PackagingError unless `path` holds exactly the declared bytes."""
    check_start(path, wanted, where)
    actual = path.stat().st_size
    if actual != wanted.bytes:
        raise PackagingError(f"{where}: bytes: {actual} came; {wanted.bytes} declared")
    digest = file_sha256(path, label="checking sha256")
    if digest != wanted.sha256:
        raise PackagingError(f"{where}: sha256: {digest} came; {wanted.sha256} declared")
