"""A call is made: its requests one after the other, each asked again while there is time."""

from __future__ import annotations

from collections.abc import Callable, Generator

from client.decisions.calls import Call, T
from client.decisions.error import of_answer, of_failure
from client.transport.exchange import Request, Streamed, Upstream, Whole
from client.transport.failures import Failure, StreamCut
from client.transport.retrying import Clock, answered
from client.transport.time_limits import ends_in

LONGEST_SECONDS = 86_400.0


def checked_deadline(seconds: float) -> float:
    """Raises ValueError. None left, or less, is no fault of the program's: the call then ends at once."""
    if not seconds <= LONGEST_SECONDS:  # so that NaN is none either
        raise ValueError(f"deadline_seconds: {seconds}; a number of at most {LONGEST_SECONDS:g} is needed")
    return seconds


def made(
    call: Call[T],
    upstream: Upstream,
    *,
    deadline_seconds: float,
    clock: Clock,
    gone: Callable[[], bool] = lambda: False,
) -> T:
    """deadline_seconds: for all of it. gone: whether nobody waits any more. Raises DecisionError."""
    deadline = clock.now() + deadline_seconds
    return call.read([_body(each, upstream, deadline, clock, gone) for each in call.requests])


def _body(request: Request, upstream: Upstream, deadline: float, clock: Clock, gone: Callable[[], bool]) -> bytes:
    try:
        answer, _ = answered(upstream, request, deadline=deadline, clock=clock, gone=gone)
        whole = _joined(answer, upstream, deadline, clock) if isinstance(answer, Streamed) else answer
    except Failure as failure:
        raise of_failure(failure) from failure
    if whole.status != 200:
        raise of_answer(whole)
    return whole.body


def _joined(answer: Streamed, upstream: Upstream, deadline: float, clock: Clock) -> Whole:
    """Raises Failure."""
    late = Failure("deadline_exceeded", f"{upstream.name}: its answer began and had not ended at the deadline")
    parts = []
    try:
        with ends_in(deadline - clock.now()):
            for part in answer.parts:
                parts.append(part)
                if clock.now() >= deadline:
                    _leave(answer)
                    raise late
    except StreamCut as cut:
        if clock.now() >= deadline:
            raise late from cut
        raise
    return Whole(status=200, body=b"".join(parts))


def _leave(answer: Streamed) -> None:
    if isinstance(answer.parts, Generator):
        answer.parts.close()
