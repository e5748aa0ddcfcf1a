"""Writes gzip whose data is stored, not compressed. Its bytes depend on the input alone, not on any zlib's version.

Why not compress: measured in docs/decisions/0002-archives-are-stored.md.
"""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

# RFC 1952: magic, method deflate, no flags (so no name), no time, no extra flags, unknown operating system
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_BLOCK = 0xFFFF  # RFC 1951: a stored block's length is 16 bits


class StoredGzipWriter:
    """Give it bytes with `write`; `finish` writes the end. It does not close `out`."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._pending = bytearray()
        self._crc = 0
        self._length = 0
        out.write(_HEADER)

    def write(self, data: bytes) -> int:
        self._crc = zlib.crc32(data, self._crc)
        self._length += len(data)
        self._pending += data
        full = len(self._pending) // _BLOCK * _BLOCK
        with memoryview(self._pending) as view:
            for start in range(0, full, _BLOCK):
                self._block(view[start : start + _BLOCK], last=False)
        del self._pending[:full]
        return len(data)

    def finish(self) -> None:
        with memoryview(self._pending) as view:
            self._block(view, last=True)
        self._out.write(struct.pack("<II", self._crc, self._length & 0xFFFFFFFF))

    def _block(self, data: memoryview, *, last: bool) -> None:
        self._out.write(struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF))
        self._out.write(data)
