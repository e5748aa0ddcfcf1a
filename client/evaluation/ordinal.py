"""How far off an answer on a scale is: beside the right level, or at the other end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client.evaluation.asked import Answered


@dataclass(frozen=True, kw_only=True)
class Ordinal:
    """Over score questions, in levels. of_mode: mean |mode − expected|. of_mean: mean |Σ i·pᵢ − expected|."""

    count: int
    of_mode: float
    of_mean: float


def ordinal_error(pairs: Sequence[Answered]) -> Ordinal | None:
    """None where no score question was answered. Both are mean absolute errors, of the most probable level and of the
    expected value, which is `score` of System One (contract 4.2).
    """
    scores = [pair for pair in pairs if pair.item.question_type == "score"]
    if not scores:
        return None
    right = np.array([int(pair.item.expected) for pair in scores])
    modes = np.array([int(pair.given.top) for pair in scores])
    means = np.array([sum(int(level) * pair.given.of(level) for level in pair.given.option_ids) for pair in scores])
    return Ordinal(
        count=len(scores),
        of_mode=float(np.mean(np.abs(modes - right))),
        of_mean=float(np.mean(np.abs(means - right))),
    )
