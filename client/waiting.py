"""Waiting for something that takes minutes: asking often at first, then seldom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

FIRST_SECONDS, FACTOR, CAP_SECONDS = 0.5, 1.5, 30.0


def pauses(
    *,
    limit_seconds: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[float]:
    """Yields the seconds waited so far, at once and after each pause; ends when `limit_seconds` have passed."""
    started, pause = clock(), FIRST_SECONDS
    while True:
        waited = clock() - started
        yield waited
        if limit_seconds is not None and waited >= limit_seconds:
            return
        sleep(pause if limit_seconds is None else min(pause, max(0.0, limit_seconds - waited)))
        pause = min(pause * FACTOR, CAP_SECONDS)
