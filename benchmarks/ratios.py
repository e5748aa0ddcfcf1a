"""Medians of paired ratios and how sure they are. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A median of paired ratios. low, high: the 95 % bootstrap interval, rounds drawn with replacement.
    pairs: how many ratios; rounds: how many independent groups of them."""

    value: float
    low: float
    high: float
    pairs: int
    rounds: int


def paired_ratio(numerator: Sequence[Sequence[float]], denominator: Sequence[Sequence[float]], *, seed: int) -> Ratio:
    """One list a round on each side, item beside item: what is divided was asked the same thing in the same round.

    Both the same shape, not empty, denominators > 0.
    """
    rounds = [
        [top / bottom for top, bottom in zip(upper, lower, strict=True)]
        for upper, lower in zip(numerator, denominator, strict=True)
    ]
    if not rounds or not all(rounds):
        raise ValueError("no pairs to divide")
    drawn = random.Random(seed)
    medians = sorted(
        median([ratio for group in drawn.choices(rounds, k=len(rounds)) for ratio in group]) for _ in range(_RESAMPLES)
    )
    return Ratio(
        value=median([ratio for group in rounds for ratio in group]),
        low=medians[int(0.025 * _RESAMPLES)],
        high=medians[int(0.975 * _RESAMPLES) - 1],
        pairs=sum(map(len, rounds)),
        rounds=len(rounds),
    )


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Least squares: by how much the second number grows when the first grows by 1. At least two different firsts."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        raise ValueError("a slope needs points at two places at least")
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
