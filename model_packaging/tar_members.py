"""Walks the members of a tar stream, each block bounded before it is read: the stream may come from anywhere.

Python's `tarfile` takes extended headers whole into memory, however large they say they are, and follows chains of
them by recursion. Here one has 64 KiB at most, and of what it says only the name and the size count. A single block is
still read by `tarfile`.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import PackagingError
from .gguf_stream import Readable

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_MAX_EXTENDED_BYTES = 64 << 10
_MAX_EXTENDED = 4  # in a row: a global one, a member's own, a long name, a long link
_MAX_PADDING = 1 << 20  # zeros after the end mark; tar programs fill up a record of some KiB
_MAX_SIZE = 1 << 62
_MAX_NAME_BYTES = 1024
_PAX, _GLOBAL, _LONG_NAME, _LONG_LINK = b"x", b"g", b"L", b"K"
_EXTENDED = (_PAX, tarfile.SOLARIS_XHDTYPE, _GLOBAL, _LONG_NAME, _LONG_LINK)
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=\n]{1,256})=")
_SIZE = re.compile(rb"[0-9]{1,19}")


@dataclass(frozen=True, kw_only=True)
class TarMember:
    """A header. kind: the type of tar; b"0" is a regular file. content: to be read before the next member is asked for;
    what is left of it then is passed over."""

    name: str
    size: int
    kind: bytes
    sparse: bool
    content: Readable

    @property
    def is_regular(self) -> bool:
        return self.kind in (tarfile.REGTYPE, tarfile.AREGTYPE)


def tar_members(stream: Readable, *, where: str) -> Iterator[TarMember]:
    """Ends behind the end mark, when nothing but zeros follows it. Raises PackagingError that names `where`."""
    tar = _Tar(stream, where)
    while (member := tar.next_member()) is not None:
        yield member
        tar.pass_over_rest()
    tar.require_end()


@dataclass(kw_only=True)
class _Content:
    """A member's bytes and no more."""

    stream: Readable
    left: int
    where: str

    def read(self, size: int, /) -> bytes:
        wanted = min(size, self.left)
        data = self.stream.read(wanted)
        if wanted and not data:
            raise PackagingError(f"{self.where}: damaged: it ends {self.left} bytes before its last member does")
        self.left -= len(data)
        return data


@dataclass(kw_only=True)
class _Stated:
    """What extended headers say of the member that follows them."""

    name: bytes | None = None
    size: int | None = None
    sparse: bool = False


class _Tar:
    def __init__(self, stream: Readable, where: str) -> None:
        self._stream = stream
        self._where = where
        self._content = _Content(stream=stream, left=0, where=where)
        self._padding = 0

    def next_member(self) -> TarMember | None:
        """None at the end mark."""
        stated = _Stated()
        for _ in range(_MAX_EXTENDED + 1):
            block = self._exactly(_BLOCK, "a header")
            if block.count(0) == _BLOCK:
                return None
            info = self._header(block)
            if info.type not in _EXTENDED:
                return self._member(info, stated)
            self._take_in(info, stated)
        raise self._wrong(f"more than {_MAX_EXTENDED} extended headers stand before a member")

    def pass_over_rest(self) -> None:
        while self._content.read(_CHUNK):
            pass
        self._exactly(self._padding, "the padding of a member")

    def require_end(self) -> None:
        passed = 0
        while rest := self._stream.read(_CHUNK):  # also lets gzip check its checksum over everything
            if rest.count(0) != len(rest):
                raise PackagingError(f"{self._where}: bytes follow the end of the archive")
            passed += len(rest)
            if passed > _MAX_PADDING:
                raise self._wrong(f"more than {_MAX_PADDING} zeros follow the end of the archive")

    def _member(self, info: tarfile.TarInfo, stated: _Stated) -> TarMember:
        size = info.size if stated.size is None else stated.size
        name = info.name if stated.name is None else stated.name.decode(errors="surrogateescape")
        if len(name) > _MAX_NAME_BYTES:
            raise self._wrong(f"a member whose name has {len(name)} bytes; {_MAX_NAME_BYTES} allowed")
        regular = info.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
        self._content = _Content(stream=self._stream, left=size if regular else 0, where=self._where)
        self._padding = -size % _BLOCK if regular else 0
        sparse = stated.sparse or info.type == tarfile.GNUTYPE_SPARSE
        return TarMember(name=name, size=size, kind=info.type, sparse=sparse, content=self._content)

    def _header(self, block: bytes) -> tarfile.TarInfo:
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as error:
            raise self._wrong(f"a header that cannot be read: {error}") from error
        if not 0 <= info.size <= _MAX_SIZE:
            raise self._wrong(f"a header that says {info.size} bytes")
        return info

    def _take_in(self, info: tarfile.TarInfo, stated: _Stated) -> None:
        if info.size > _MAX_EXTENDED_BYTES:
            raise self._wrong(f"an extended header of {info.size} bytes; {_MAX_EXTENDED_BYTES} allowed")
        data = self._exactly(info.size, "an extended header")
        self._exactly(-info.size % _BLOCK, "the padding of an extended header")
        if info.type == _LONG_NAME:
            stated.name = data.split(b"\0", 1)[0]
        elif info.type != _LONG_LINK:  # whither a link leads is nothing here: no link is taken
            for key, value in self._records(data):
                self._take_in_record(key, value, stated, for_all=info.type == _GLOBAL)

    def _take_in_record(self, key: bytes, value: bytes, stated: _Stated, *, for_all: bool) -> None:
        if for_all and (key in (b"path", b"size") or key.startswith(b"GNU.sparse.")):
            raise self._wrong(f"a header that gives all members the same {key.decode()}")
        if key == b"path":
            stated.name = value
        elif key == b"size":
            if not _SIZE.fullmatch(value) or int(value) > _MAX_SIZE:
                raise self._wrong(f"an extended header whose size is {value[:40]!r}")
            stated.size = int(value)
        elif key.startswith(b"GNU.sparse."):
            stated.sparse = True

    def _records(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """`LENGTH KEY=VALUE` and a line's end each, where the length counts all of it."""
        at = 0
        while at < len(data) and data[at]:
            match = _RECORD.match(data, at)
            end = at + int(match[1]) if match else 0
            if match is None or not match.end() < end <= len(data) or data[end - 1 : end] != b"\n":
                raise self._wrong(f"an extended header with a record that begins {data[at : at + 40]!r}")
            yield match[2], data[match.end() : end - 1]
            at = end

    def _exactly(self, count: int, what: str) -> bytes:
        """A stream may give less at a time. count: bounded by the caller."""
        parts, left = [], count
        while left:
            data = self._stream.read(left)
            if not data:
                raise self._wrong(f"it ends within {what}")
            parts.append(data)
            left -= len(data)
        return b"".join(parts)

    def _wrong(self, problem: str) -> PackagingError:
        return PackagingError(f"{self._where}: damaged or not a .tar.gz: {problem}")
