"""A call is made: its requests one after the other, each asked again while there is time."""

from __future__ import annotations

from collections.abc import Callable

from client.decisions.calls import Call, T
from client.decisions.error import of_answer, of_failure
from client.transport.exchange import Request, Streamed, Upstream, Whole
from client.transport.failures import Failure
from client.transport.retrying import Clock, answered


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
        whole = Whole(status=200, body=b"".join(answer.parts)) if isinstance(answer, Streamed) else answer
    except Failure as failure:
        raise of_failure(failure) from failure
    if whole.status != 200:
        raise of_answer(whole)
    return whole.body
