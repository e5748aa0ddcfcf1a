"""An answer sent in parts: its first part is there before the status is, and its log line comes with its end.

Knows WSGI's rule that an iterable is closed, whatever became of its caller; no dialects and no Flask.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field


class SlowCaller(OSError):
    """The caller did not take its answer in time. Its errno is one that gunicorn closes the connection on quietly."""

    def __init__(self) -> None:
        super().__init__(errno.ECONNRESET, "the caller did not take its answer before the deadline")


@dataclass(kw_only=True)
class Course:
    """How a streamed answer goes. code: as in a request's log line. facts: what that line says besides."""

    code: str = "caller_gone"  # until the answer's last part is made
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StreamedAnswer:
    """parts: begun already, so that closing it ends the work behind it."""

    content_type: str
    parts: Generator[bytes, None, None]
    first: bytes
    course: Course


class Told:
    """WSGI's iterable. ended: called once, when the last part is sent or the caller is gone."""

    def __init__(self, answer: StreamedAnswer, ended: Callable[[str, Mapping[str, object]], None]) -> None:
        self._answer = answer
        self._ended = ended
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        yield self._answer.first
        yield from self._answer.parts

    def close(self) -> None:
        if self._open:
            self._open = False
            self._answer.parts.close()
            self._ended(self._answer.course.code, self._answer.course.facts)
