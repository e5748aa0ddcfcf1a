"""Probabilities → what answers say of them: expectation and confidence (contract 4.2). Pure.

Sums are rounded once (math.fsum), so that a sum over levels has no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def most_probable(probabilities: Sequence[float]) -> int:
    """The first of those with the highest probability."""
    return max(range(len(probabilities)), key=probabilities.__getitem__)


def expectation(probabilities: Sequence[float]) -> float:
    """Σ i·p_i."""
    return math.fsum(level * probability for level, probability in enumerate(probabilities))


def choice_confidence(probabilities: Sequence[float]) -> float:
    """(p_max − 1/n) / (1 − 1/n): 0 where all are equal, 1 where one has everything. n ≥ 2."""
    even = 1 / len(probabilities)
    return _within((max(probabilities) - even) / (1 - even))


def score_confidence(probabilities: Sequence[float]) -> float:
    """1 − Σ p_i·|i − mode| / D, at least 0; D is how far levels are from the middle on average. n ≥ 2."""
    count, mode = len(probabilities), most_probable(probabilities)
    spread = math.fsum(probability * abs(level - mode) for level, probability in enumerate(probabilities))
    even = math.fsum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return _within(1 - spread / even)


def _within(value: float) -> float:
    """Into [0, 1], where rounding may leave it by a bit."""
    return min(1.0, max(0.0, value))
