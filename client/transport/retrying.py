"""Asking again while the caller still waits: capped exponential pauses with full jitter, on top of what the server asks
for. Knows no HTTP.

What may have been worked on is asked again only where the server's own answer says that a later try can succeed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from client.transport.exchange import Answer, Request, Streamed, Upstream, Whole, json_object
from client.transport.failures import Failure

FIRST_SECONDS, CAP_SECONDS = 0.25, 8.0
PASSING = frozenset({429, 503})  # unless the server's own answer says otherwise


@dataclass(frozen=True, kw_only=True)
class Clock:
    """now: on the clock of deadlines. jitter: of [0, limit)."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float], float] = lambda limit: random.uniform(0, limit)


def answered(
    upstream: Upstream, request: Request, *, deadline: float, clock: Clock, gone: Callable[[], bool]
) -> tuple[Answer, int]:
    """The answer and how often was asked. Raises Failure. gone: whether the caller has hung up."""
    tries = 0
    while True:
        left = deadline - clock.now()
        if left <= 0:
            late = f"the deadline came before the request could be sent to {upstream.name}"
            return _told(Failure("deadline_exceeded", late), tries), tries
        tries += 1
        outcome = _asked(upstream, request, left)
        if isinstance(outcome, Streamed) or not _may_change(outcome, tries):
            return _told(outcome, tries), tries
        least = retry_after(outcome)
        pause = least + clock.jitter(min(CAP_SECONDS, FIRST_SECONDS * 2 ** (tries - 1)))
        if gone() or clock.now() + pause >= deadline:
            return _told(_given_up(outcome, least), tries), tries
        clock.sleep(pause)
        if gone():
            return _told(_given_up(outcome, least), tries), tries


def retry_after(outcome: Whole | Failure) -> float:
    """Seconds that the server wants to be left alone, as the dialects say it in their bodies; 0 where none does."""
    if isinstance(outcome, Failure):
        return 0.0
    body = json_object(outcome.body)
    error = body.get("error")
    inner = error.get("retry_after_seconds") if isinstance(error, dict) else None
    for said in (body.get("retry_after_seconds"), body.get("x_retry_after_seconds"), inner):
        if isinstance(said, (int, float)) and not isinstance(said, bool) and said >= 0:
            return float(said)
    return 0.0


def _asked(upstream: Upstream, request: Request, timeout: float) -> Answer | Failure:
    try:
        return upstream.send(request, timeout=timeout)
    except Failure as failure:
        return failure


def _may_change(outcome: Whole | Failure, tries: int) -> bool:
    if isinstance(outcome, Failure):
        return outcome.tries is None or tries < outcome.tries
    return outcome.status in PASSING and json_object(outcome.body).get("retryable") is not False


def _told(outcome: Answer | Failure, tries: int) -> Answer:
    if isinstance(outcome, Failure):
        outcome.asked = tries
        raise outcome
    return outcome


def _given_up(outcome: Whole | Failure, least: float) -> Whole | Failure:
    """The caller's own time is over; its next try is its own affair, and the header that InvokeEndpoint hides helps."""
    if isinstance(outcome, Failure) or not least:
        return outcome
    return replace(outcome, headers={**outcome.headers, "Retry-After": f"{least:g}"})
