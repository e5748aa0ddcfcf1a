"""The difference between two contestants on the same decisions, and how sure it is. Pure.

Paraphrases of one decision are no independent evidence, so whole groups are drawn, not decisions: each resample draws
as many groups as there are, with replacement, and takes Σ differences / Σ decisions of what it drew; the interval is
that of the middle 95 % of the resamples (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

RESAMPLES = 10_000
SEED = 20250101
_ROWS = 250  # resamples drawn at a time: memory stays small with many groups


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def mean_difference(
    differences: Sequence[float], groups: Sequence[str], *, seed: int = SEED, resamples: int = RESAMPLES
) -> Interval:
    """differences: one for each decision, at least one. groups: of each, in the same order. Same input, same output."""
    places = {name: place for place, name in enumerate(sorted(set(groups)))}
    index = np.asarray([places[name] for name in groups])
    sums = np.bincount(index, weights=np.asarray(differences, dtype=np.float64), minlength=len(places))
    counts = np.bincount(index, minlength=len(places)).astype(np.float64)
    random = np.random.default_rng(seed)
    means = []
    for start in range(0, resamples, _ROWS):
        rows = min(_ROWS, resamples - start)
        drawn = random.multinomial(len(places), np.full(len(places), 1 / len(places)), size=rows).astype(np.float64)
        means.append((drawn @ sums) / (drawn @ counts))
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return Interval(value=float(np.mean(differences)), low=float(low), high=float(high))


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided p of so many decisions right in one contestant alone, were both equally good (McNemar, 1947).

    It takes every decision as independent, which paraphrases are not: the interval above is what to go by.
    """
    discordant = only_first + only_second
    return 1.0 if discordant == 0 else float(binomtest(only_first, discordant, 0.5).pvalue)
