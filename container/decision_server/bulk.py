"""The lines of a bulk body → their answers, a line each, in their order, as they come (contract 7).

Lines are taken in windows and, within one, in groups about an equal state, so that a state is computed once. A line is
a request to the service like any other, but it waits for a place where another would be refused: bulk takes what live
callers leave. Knows no sockets.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from decision_server.errors import Refusal
from decision_server.request_log import LoggedAnswer
from decision_server.wire.asked import Asked
from decision_server.wire.bulk_lines import BadLine, error_line, state_of
from decision_server.wire.dialects import Dialect
from decision_server.wire.lines import Line, Lines

WINDOW_LINES, WINDOW_BYTES = 256, 1 << 20  # what is grouped, and held in memory, at a time
_WAIT_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 2.0
_BUSY = frozenset({"queue_full", "wait_too_long"})
_SUMS = ("encode_seconds", "forward_seconds", "input_tokens", "cached_tokens")

_log = logging.getLogger(__name__)


class Pieces(Protocol):
    @property
    def whole(self) -> bool:
        """Whether all of the body has arrived, or no more will come."""

    def piece(self, *, wait: float) -> bytes | None:
        """The next bytes of the body; b"" at its end, None where none came in time. Raises Refusal."""


@dataclass(kw_only=True)
class Tally:
    """What became of a body so far. code: of what ended it early, else ok."""

    lines: int = 0
    refused_lines: int = 0
    decisions: int = 0
    code: str = "ok"
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_SUMS, 0))

    def facts(self) -> dict[str, object]:
        counts = {"lines": self.lines, "refused_lines": self.refused_lines, "decisions": self.decisions}
        return {"dialect": "bulk", **counts, **{name: round(value, 4) for name, value in self.sums.items()}}


@dataclass(frozen=True, kw_only=True)
class Bulk:
    """read: a line → what it asks. answer: by when, on the clock of time.monotonic. deadline: of the whole body, which
    began body_seconds before; line_seconds: of a line, from its turn on. gone: whether the caller has hung up. dialect:
    of the route, where it has only one."""

    read: Callable[[Line], Asked | BadLine]
    answer: Callable[[Asked, float], LoggedAnswer]
    deadline: float
    body_seconds: float
    line_seconds: float
    gone: Callable[[], bool]
    request_id: str
    tally: Tally
    dialect: Dialect | None = None

    def answers(self, pieces: Pieces, lines: Lines) -> Iterator[bytes]:
        """Raises Refusal where the caller has gone. A body that breaks off ends with an error in place of the rest."""
        try:
            for window in self._windows(pieces, lines):
                yield from self._in_order(window)
        except Refusal as refusal:
            self.tally.code = refusal.code
            if refusal.code == "caller_gone":
                raise
            bad = BadLine(refusal=refusal, dialect=self.dialect)
            yield error_line(bad, self.request_id, self.tally.lines + 1) + b"\n"

    def _windows(self, pieces: Pieces, lines: Lines) -> Iterator[list[Line]]:
        """Full ones while there is more to read, else what is there. Raises Refusal."""
        window: list[Line] = []
        while True:
            if not pieces.whole and time.monotonic() >= self.deadline:
                yield window
                raise Refusal(
                    "body_timeout",
                    f"the body had not arrived {self.body_seconds:g} s after it began; send the rest in another (the "
                    "setting DECISION_BULK_DEADLINE_SECONDS moves the limit)",
                )
            try:
                piece = pieces.piece(wait=0 if window else _WAIT_SECONDS)
            except Refusal:
                yield window
                raise
            if piece is None:
                if self.gone():
                    raise Refusal("caller_gone", "the caller closed the connection")
                yield window
                window = []
                continue
            for line in lines.add(piece) if piece else lines.rest():
                window.append(line)
                if len(window) >= WINDOW_LINES or sum(one.size for one in window) >= WINDOW_BYTES:
                    yield window
                    window = []
            if not piece:
                yield window
                return

    def _in_order(self, window: Sequence[Line]) -> Iterator[bytes]:
        done: dict[int, bytes] = {}
        asked: dict[int, Asked] = {}
        for place, line in enumerate(window):
            match found := b"" if line.blank else self.read(line):
                case bytes():
                    done[place] = found
                case BadLine():
                    done[place] = self._refused(found, line)
                case _:
                    asked[place] = found
        order = _grouped(asked)
        for place, line in enumerate(window):
            while place not in done:
                turn = order.pop(0)
                done[turn] = self._answer(asked[turn], window[turn])
            self.tally.lines = line.number
            yield done.pop(place) + b"\n"

    def _answer(self, asked: Asked, line: Line) -> bytes:
        limit = min(self.deadline, time.monotonic() + self.line_seconds)
        try:
            answer = self._when_there_is_room(asked, limit)
        except Refusal as refusal:
            if refusal.code == "caller_gone":
                raise
            return self._refused(BadLine(refusal=refusal, dialect=asked.dialect), line)
        except Exception:  # noqa: BLE001 - the border: a fault of one line is no fault of the others
            _log.exception("a line failed", extra={"facts": {"request_id": self.request_id, "line": line.number}})
            fault = Refusal("internal", "the server failed on this line; its log names the request id")
            return self._refused(BadLine(refusal=fault, dialect=asked.dialect), line)
        self.tally.decisions += len(asked.decisions)
        for name in _SUMS:
            value = answer.facts.get(name, 0)
            if isinstance(value, (int, float)):
                self.tally.sums[name] += value
        return answer.body

    def _when_there_is_room(self, asked: Asked, limit: float) -> LoggedAnswer:
        while True:
            if time.monotonic() >= self.deadline:
                raise Refusal(
                    "deadline_exceeded",
                    "the deadline of the whole body passed before this line, which was not run; send it again",
                )
            try:
                return self.answer(asked, limit)
            except Refusal as refusal:
                pause = min(refusal.retry_after_seconds or 1, _LONGEST_PAUSE_SECONDS)
                if refusal.code not in _BUSY or time.monotonic() + pause >= limit:
                    raise
                if self.gone():
                    raise Refusal("caller_gone", "the caller closed the connection") from refusal
                time.sleep(pause)

    def _refused(self, bad: BadLine, line: Line) -> bytes:
        self.tally.refused_lines += 1
        return error_line(bad, self.request_id, line.number)


def _grouped(asked: dict[int, Asked]) -> list[int]:
    """Places of lines about an equal state side by side; else as they stand."""
    groups: dict[str, list[int]] = {}
    for place, one in asked.items():
        groups.setdefault(state_of(one), []).append(place)
    return [place for group in groups.values() for place in group]
