"""Writes a model archive. The same members give the same bytes, whatever the clock, user, umask or machine."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from .disk_space import require_free_space
from .errors import PackagingError, UnavailableError
from .integrity import CHUNK, HashingReader
from .manifest import MANIFEST_NAME, FileFacts, Manifest, listed_files, manifest_bytes
from .progress import progress
from .stored_gzip import StoredGzipWriter

ARCHIVE_NAME = "model.tar.gz"
# 1980-01-01, the earliest time that no archive tool calls implausible
_MEMBER_TIME = 315532800


@dataclass(frozen=True, kw_only=True)
class Archive:
    path: Path
    bytes: int
    sha256: str


def write_archive(manifest: Manifest, files: Mapping[str, Path], target: Path) -> Archive:
    """Writes `target` whole or not at all. A link given as a member is followed: members are regular files.

    files: where each one of the manifest's lies, by its name there. Raises PackagingError where a file is not the
    manifest's, UnavailableError where the disk is too full.
    """
    needed = sum(each.bytes for each in listed_files(manifest)) + CHUNK
    require_free_space(target.parent, needed, "the archive")
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as out:
            hashing = _HashingWriter(out)
            _write_members(manifest, files, hashing)
            out.flush()
            os.fsync(out.fileno())
        os.replace(partial, target)
    except OSError as error:
        raise UnavailableError(f"{target}: {error.strerror or error}") from error
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    return Archive(path=target, bytes=hashing.bytes, sha256=hashing.sha256)


def archive_of(manifest: Manifest, folder: Path) -> tuple[str, int]:
    """sha256 and bytes of the archive that the files of `folder` make, without writing it."""
    with open(os.devnull, "wb") as nowhere:
        hashing = _HashingWriter(nowhere)
        _write_members(manifest, {each.file: folder / each.file for each in listed_files(manifest)}, hashing)
    return hashing.sha256, hashing.bytes


def _write_members(manifest: Manifest, files: Mapping[str, Path], out: _HashingWriter) -> None:
    packed = StoredGzipWriter(cast(BinaryIO, out))
    # PAX adds records only where ustar cannot say it: weights of 8 GiB and more
    with tarfile.open(fileobj=cast(BinaryIO, packed), mode="w|", format=tarfile.PAX_FORMAT, bufsize=CHUNK) as tar:
        facts = manifest_bytes(manifest)
        tar.addfile(_member(MANIFEST_NAME, len(facts)), io.BytesIO(facts))
        for each in listed_files(manifest):
            _add(tar, files[each.file], each)
    packed.finish()


def _add(tar: tarfile.TarFile, path: Path, facts: FileFacts) -> None:
    with path.open("rb") as stream, progress(f"packing {facts.file}", facts.bytes) as advance:
        reader = HashingReader(stream, advance)
        tar.addfile(_member(facts.file, facts.bytes), cast(BinaryIO, reader))
        reader.drain()
    if (reader.bytes, reader.sha256) != (facts.bytes, facts.sha256):
        raise PackagingError(f"{path}: changed while it was packed; nothing was written")


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    member.mtime = _MEMBER_TIME
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


class _HashingWriter:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.bytes += len(data)
        return self._out.write(data)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()
