"""Bytes in pieces → lines, numbered from 1 (contract 7). Pure. Holds no more than the longest line allowed.

A line ends with a line feed, with or without a carriage return before it; the last one may lack it. A line of white
space alone is blank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Line:
    """content: None where the line is too long to be kept; size in bytes, either way, without the line's end."""

    number: int
    size: int
    content: bytes | None

    @property
    def blank(self) -> bool:
        return self.content is not None and not self.content.strip()


class Lines:
    """max_bytes: of one line."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._number = 0

    def add(self, piece: bytes) -> Iterator[Line]:
        """The lines that end within the piece."""
        *ended, rest = piece.split(b"\n")
        for part in ended:
            self._keep(part)
            yield self._line()
        self._keep(rest)

    def rest(self) -> Iterator[Line]:
        """At the end of all bytes: the last line, if it had no end."""
        if self._size:
            yield self._line()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max_bytes + 1:  # a carriage return may be one of them
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _line(self) -> Line:
        content, size = b"".join(self._parts), self._size
        if content.endswith(b"\r"):
            content, size = content[:-1], size - 1
        self._parts, self._size = [], 0
        self._number += 1
        return Line(number=self._number, size=size, content=content if size <= self._max_bytes else None)
