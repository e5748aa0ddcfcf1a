"""Reads a model archive, or a folder it was unpacked into, and checks that it is exactly what its manifest says.

Nothing is unpacked: members are read as a stream, so an archive from anywhere may be given. Links, devices, folders and
paths are refused by kind and by name before their bytes count.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from .archive import archive_of
from .errors import PackagingError, UnavailableError
from .gguf_header import GgufHeader, GgufPart, read_part, whole
from .gguf_stream import Readable
from .integrity import HashingReader
from .manifest import MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, listed_files, parse_manifest
from .progress import progress
from .sources import require_plain_name
from .tar_members import tar_members

_MOST_MEMBERS = 128  # manifest, parts of the weights, calibration, files of the tokenizer
_MAX_OTHER_BYTES = 64 << 20  # of what is neither manifest nor weights


@dataclass(frozen=True, kw_only=True)
class Verified:
    """sha256 and bytes: of the archive; of a folder, those of the archive that its files make."""

    manifest: Manifest
    sha256: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class _Member:
    size: int
    sha256: str
    header: GgufHeader | GgufPart | None = None
    text: bytes = b""


def verify(path: Path) -> Verified:
    """Raises PackagingError that names the archive, the member and what is wrong with it."""
    try:
        return _verify(path)
    except OSError as error:
        raise UnavailableError(f"{path}: {error.strerror or error}") from error


def _verify(path: Path) -> Verified:
    if path.is_dir():
        manifest = _compare(_read_folder(path), str(path))
        sha256, size = archive_of(manifest, path)
        return Verified(manifest=manifest, sha256=sha256, bytes=size)
    if not path.is_file():
        raise PackagingError(f"{path}: no such archive or folder")
    with path.open("rb") as stream, progress("verifying", path.stat().st_size) as advance:
        raw = HashingReader(stream, advance)
        members = _read_archive(raw, str(path))
        raw.drain()
    return Verified(manifest=_compare(members, str(path)), sha256=raw.sha256, bytes=raw.bytes)


def _read_archive(raw: HashingReader, where: str) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    with _damage_named(where), gzip.GzipFile(fileobj=cast(BinaryIO, raw)) as unpacked:
        for member in tar_members(unpacked, where=where):
            require_plain_name(member.name, where=f"{where}: member")
            if member.sparse:
                raise PackagingError(f"{where}: member {member.name!r} is sparse: it unpacks to more than it holds")
            if not member.is_regular:
                raise PackagingError(f"{where}: member {member.name!r} is no regular file but tar type {member.kind!r}")
            _require_room(members, member.name, where)
            members[member.name] = _read_member(member.content, member.name, member.size, where)
    return members


def _read_folder(folder: Path) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    for path in sorted(folder.iterdir()):
        require_plain_name(path.name, where=str(folder))
        if path.is_symlink() or not path.is_file():
            raise PackagingError(f"{folder}: {path.name!r} is no regular file")
        _require_room(members, path.name, str(folder))
        size = path.stat().st_size
        with path.open("rb") as stream, progress(f"verifying {path.name}", size) as advance:
            members[path.name] = _read_member(HashingReader(stream, advance), path.name, size, str(folder))
    return members


def _require_room(members: dict[str, _Member], name: str, where: str) -> None:
    if name in members:
        raise PackagingError(f"{where}: member {name!r} stands there twice")
    if len(members) == _MOST_MEMBERS:
        raise PackagingError(f"{where}: member {name!r} is one too many; {_MOST_MEMBERS} allowed")


def _read_member(stream: Readable, name: str, size: int, where: str) -> _Member:
    reader = HashingReader(stream)
    header, text = None, b""
    if name.endswith(".gguf"):
        header = read_part(reader, size, where=f"{where}: {name}")
    else:
        most = MAX_MANIFEST_BYTES if name == MANIFEST_NAME else _MAX_OTHER_BYTES
        if size > most:
            raise PackagingError(f"{where}: member {name!r} has {size} bytes; {most} allowed")
        if name == MANIFEST_NAME:
            text = reader.read(size)
    reader.drain()
    return _Member(size=reader.bytes, sha256=reader.sha256, header=header, text=text)


def _compare(members: dict[str, _Member], where: str) -> Manifest:
    if MANIFEST_NAME not in members:
        raise PackagingError(f"{where}: holds no {MANIFEST_NAME}; {_names(members)} found")
    manifest = parse_manifest(members[MANIFEST_NAME].text, where=f"{where}: {MANIFEST_NAME}")
    listed = listed_files(manifest)
    expected = {MANIFEST_NAME, *(facts.file for facts in listed)}
    if set(members) != expected:
        raise PackagingError(f"{where}: holds {_names(members)}; the manifest lists {_names(expected)}")
    for facts in listed:
        seen = members[facts.file]
        for key, value, wanted in (("bytes", seen.size, facts.bytes), ("sha256", seen.sha256, facts.sha256)):
            if value != wanted:
                raise PackagingError(f"{where}: {facts.file}: {key}: {value} found; the manifest says {wanted}")
    files = [each.file for each in manifest.gguf.files]
    headers = [header for header in (members[each].header for each in files) if header is not None]
    header = whole(headers, names=[f"{where}: {each}" for each in files])
    for key in ("architecture", "file_type", "context_length"):
        found, stated = getattr(header, key), getattr(manifest.gguf, key)
        if found != stated:
            raise PackagingError(f"{where}: {manifest.gguf.file}: {key}: {found} found; the manifest says {stated}")
    return manifest


def _names(names: set[str] | dict[str, _Member]) -> str:
    return ", ".join(sorted(names)) or "nothing"


@contextmanager
def _damage_named(where: str) -> Iterator[None]:
    """gzip says what is damaged in exceptions of its own; ours also says of which file."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise PackagingError(f"{where}: damaged or not a .tar.gz: {error}") from error
