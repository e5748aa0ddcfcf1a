"""Labelled decisions of a made-up model that is too sure of itself, by a factor that is known."""

from __future__ import annotations

import math
import random

from client.calibration.scores import Scored, probabilities_of


def overconfident(
    count: int, *, factor: float, seed: int = 7, options: int = 4, question_type: str = "choice", in_group: int = 1
) -> list[Scored]:
    """Right answers are drawn from softmax(scores / factor): `factor` is the temperature that a fit ought to find."""
    drawn = random.Random(seed)
    items = []
    for number in range(count):
        scores = tuple(drawn.gauss(0.0, 2.0) * factor for _ in range(options))
        (expected,) = drawn.choices(range(options), probabilities_of(scores, factor))
        items.append(
            Scored(
                item_id=f"i{number}",
                group=f"g{number // in_group}",
                question_type=question_type,
                scores=scores,
                expected=expected,
            )
        )
    return items


def mean_nll(items: list[Scored], temperature: float) -> float:
    """Written apart from what it checks: through probabilities."""
    return -math.fsum(math.log(probabilities_of(each.scores, temperature)[each.expected]) for each in items) / len(
        items
    )
