"""Answers on their way to a caller that may still be sending: never more than it takes at once, the rest on disk.

A caller that sends all before it reads would otherwise hold the sending up until that times out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

_IN_MEMORY = 1 << 18
_PIECE = 1 << 12


class Outflow:
    """takes: whether the caller's side takes a piece at once. Not for two threads."""

    def __init__(self, takes: Callable[[], bool]) -> None:
        self._takes = takes
        self._kept = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with this
        self._in = 0
        self._out = 0

    def add(self, data: bytes) -> None:
        self._kept.seek(self._in)
        self._kept.write(data)
        self._in += len(data)

    def pieces(self, *, everything: bool) -> Iterator[bytes]:
        """What can go now. everything: the caller sends no more, so it reads."""
        while self._out < self._in and (everything or self._takes()):
            self._kept.seek(self._out)
            piece = self._kept.read(min(_PIECE, self._in - self._out))
            self._out += len(piece)
            yield piece
        if self._out == self._in:
            self._kept.seek(0)
            self._kept.truncate()
            self._in = self._out = 0

    def close(self) -> None:
        self._kept.close()
