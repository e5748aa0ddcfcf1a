"""What a run took: latency, tokens, money. All that differs from run to run, whatever the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client.evaluation.outcomes import GIVEN, Outcome


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Of the askings in the given order: a second one with reversed options finds what the first left in the cache.

    first: of each session's first asking, which may find a model that is not warm; they are left out of p50, p95 and
    max. busy_seconds: in which at least one question was under way, pauses between sessions left out. evaluated_tokens:
    those not taken from the cache; tokens are None where some answer does not tell them. concurrencies: how many were
    asked at once, as it changed between sessions.
    """

    first: tuple[float, ...]
    p50: float | None
    p95: float | None
    maximum: float | None
    busy_seconds: float
    decisions: int
    sessions: int
    concurrencies: tuple[int, ...]
    input_tokens: int | None
    cached_tokens: int | None
    evaluated_tokens: int | None
    hourly_price: float | None
    cost_per_1000: float | None


def timing(outcomes: Sequence[Outcome], *, hourly_price: float | None = None) -> Timing:
    """p50 and p95 are values that were seen, the smallest with at least that share of all at or below them.

    cost_per_1000 = hourly_price / 3600 · busy_seconds / decisions · 1000: at the concurrency of the run, and as if the
    instance worked for nothing else and all the time.
    """
    counted = sorted((each for each in outcomes if each.order == GIVEN), key=lambda each: each.started)
    begun: dict[int, Outcome] = {}
    for each in counted:
        begun.setdefault(each.session, each)
    colds = {each.started for each in begun.values()}
    warm = np.array([each.seconds for each in counted if each.started not in colds and each.error is None])
    done = [each.answer for each in counted if each.answer is not None]
    tokens, cached = _sum([each.input_tokens for each in done]), _sum([each.cached_tokens for each in done])
    seconds = _union([(each.began, each.began + each.seconds) for each in counted])
    paid = None if hourly_price is None or not done else hourly_price / 3600 * seconds / len(done) * 1000
    return Timing(
        first=tuple(each.seconds for each in begun.values()),
        p50=_percentile(warm, 50),
        p95=_percentile(warm, 95),
        maximum=float(warm.max()) if len(warm) else None,
        busy_seconds=seconds,
        decisions=len(done),
        sessions=len(begun),
        concurrencies=tuple(dict.fromkeys(each.concurrency for each in counted if each.concurrency is not None)),
        input_tokens=tokens,
        cached_tokens=cached,
        evaluated_tokens=None if tokens is None or cached is None else tokens - cached,
        hourly_price=hourly_price,
        cost_per_1000=paid,
    )


def _percentile(values: np.ndarray, percent: float) -> float | None:
    return float(np.percentile(values, percent, method="inverted_cdf")) if len(values) else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [each for each in values if each is not None]
    return sum(known) if known and len(known) == len(values) else None


def _union(spans: Sequence[tuple[float, float]]) -> float:
    """The length of what the spans cover together."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
