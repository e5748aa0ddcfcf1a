"""Reads GGUF's primitive values from a stream, never past the file's stated size. Knows lengths, not meanings."""

from __future__ import annotations

import struct
from typing import Protocol

from .errors import PackagingError

MAX_STRING_BYTES = 16 << 20
_MAX_KEPT_BYTES = 32 << 20  # of all texts that are handed out: a header of any model has some hundred KiB of them
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


def shown(value: object) -> str:
    """For a message, which stays one line that a person reads."""
    return repr(value[:80] if isinstance(value, str) else value)


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
        self._kept = 0
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

    def text(self, what: str, *, most: int = MAX_STRING_BYTES) -> str:
        length = self._length(what, most)
        self._kept += length
        if self._kept > _MAX_KEPT_BYTES:
            raise self.wrong(f"{what} brings keys, names and texts to {self._kept} bytes; {_MAX_KEPT_BYTES} allowed")
        data = self.take(length, what)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.wrong(f"{what} is not UTF-8") from error

    def value(self, what: str, *, keep_text: bool) -> str | int | float | None:
        """The next value with its type. An array, and a text that is not to be kept, is passed over and gives None."""
        kind = self.u32(f"the type of {what}")
        if kind == _ARRAY:
            self._skip_array(what)
            return None
        if kind == _STRING and keep_text:
            return self.text(what)
        if kind == _STRING:
            self._skip(self._length(what, MAX_STRING_BYTES), what)
            return None
        if kind not in _SCALARS:
            raise self.wrong(f"{what} has the unknown value type {kind}")
        code, width = _SCALARS[kind]
        value: int | float = struct.unpack(f"<{code}", self.take(width, what))[0]
        return value

    def _length(self, what: str, most: int) -> int:
        length = self.u64(f"the length of {what}")
        if length > most:
            raise self.wrong(f"{what} is {length} bytes long; {most} allowed")
        return length

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
