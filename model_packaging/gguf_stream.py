"""Reads GGUF's primitive values from a stream, never past the file's stated size. Knows lengths, not meanings."""

from __future__ import annotations

import struct
from typing import Protocol

from .errors import PackagingError

MAX_STRING_BYTES = 16 << 20
_CHUNK = 1 << 20
_STRING, _ARRAY = 8, 9
_SCALARS: dict[int, tuple[str, int]] = {
    0: ("B", 1),
    1: ("b", 1),
    2: ("H", 2),
    3: ("h", 2),
    4: ("I", 4),
    5: ("i", 4),
    6: ("f", 4),
    7: ("?", 1),
    10: ("Q", 8),
    11: ("q", 8),
    12: ("d", 8),
}


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class GgufStream:
    """Sequential reads with a bound before each: a length larger than what is left of the file is refused unread.

    size: of the whole file in bytes. `position` counts what was read. Raises PackagingError that says where it stood.
    """

    def __init__(self, stream: Readable, size: int, *, where: str) -> None:
        self._stream = stream
        self._size = size
        self._where = where
        self.position = 0

    def wrong(self, problem: str) -> PackagingError:
        return PackagingError(f"{self._where}: at byte {self.position}: {problem}")

    def take(self, count: int, what: str) -> bytes:
        left = self._size - self.position
        if count > left:
            raise self.wrong(f"{what} needs {count} bytes and the file has {left} left: it is truncated or damaged")
        data = self._stream.read(count)
        if len(data) != count:
            raise self.wrong(f"{what} needs {count} bytes and {len(data)} came: the file ended early")
        self.position += count
        return data

    def u32(self, what: str) -> int:
        return int(struct.unpack("<I", self.take(4, what))[0])

    def u64(self, what: str) -> int:
        return int(struct.unpack("<Q", self.take(8, what))[0])

    def text(self, what: str) -> str:
        length = self.u64(f"the length of {what}")
        if length > MAX_STRING_BYTES:
            raise self.wrong(f"{what} is {length} bytes long; {MAX_STRING_BYTES} allowed")
        data = self.take(length, what)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.wrong(f"{what} is not UTF-8") from error

    def value(self, what: str) -> str | int | float | None:
        """The next value with its type. An array is passed over and gives None."""
        kind = self.u32(f"the type of {what}")
        if kind == _ARRAY:
            self._skip_array(what)
            return None
        if kind == _STRING:
            return self.text(what)
        if kind not in _SCALARS:
            raise self.wrong(f"{what} has the unknown value type {kind}")
        code, width = _SCALARS[kind]
        value: int | float = struct.unpack(f"<{code}", self.take(width, what))[0]
        return value

    def _skip_array(self, what: str) -> None:
        kind, count = self.u32(f"the item type of {what}"), self.u64(f"the item count of {what}")
        if kind in _SCALARS:
            self._skip(count * _SCALARS[kind][1], what)
        elif kind == _STRING:
            if count * 8 > self._size - self.position:  # each string has at least its 8 bytes of length
                raise self.wrong(f"{what} claims {count} strings, more than the rest of the file can hold")
            for _ in range(count):
                self._skip(self.u64(f"a length in {what}"), what)
        else:
            raise self.wrong(f"{what} is an array of the unknown or nested type {kind}")

    def _skip(self, count: int, what: str) -> None:
        if count > self._size - self.position:
            raise self.wrong(f"{what} needs {count} bytes and the file has {self._size - self.position} left")
        while count:
            count -= len(self.take(min(count, _CHUNK), what))
