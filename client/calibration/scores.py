"""What an answer's probabilities say of the scores behind them. Pure.

The server divides scores by a temperature and takes the softmax. From probabilities and that temperature the scores
come back but for a constant, which no softmax sees: score = temperature · ln(probability). A probability of exactly 0
says of its score only that it was lower than what a double can tell; it is taken at that bound, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_OF_SOFTMAX = math.ulp(0.0)  # below it a softmax in double precision gives 0
LEAST_OF_COMPLEMENT = 2.0**-54  # a noul's "no" is 1 - p: below it that difference gives 0


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One labelled decision as a fit sees it.

    group: paraphrases of one decision share it. scores: one for each option, natural log units, no temperature applied.
    expected: the place of the right option. bounded: some score stands at its bound, not at its value.
    """

    item_id: str
    group: str
    question_type: str
    scores: tuple[float, ...]
    expected: int
    bounded: bool = False


def scores_of(
    probabilities: Sequence[float], temperature: float, *, question_type: str
) -> tuple[tuple[float, ...], bool]:
    """Probabilities as served, and the temperature they were made with → scores, and whether one is at its bound."""
    least = [LEAST_OF_SOFTMAX] * len(probabilities)
    if question_type == "noul":
        least[1] = LEAST_OF_COMPLEMENT
    scores = tuple(temperature * math.log(max(pair)) for pair in zip(probabilities, least, strict=True))
    return scores, any(each < bound for each, bound in zip(probabilities, least, strict=True))


def probabilities_of(scores: Sequence[float], temperature: float) -> tuple[float, ...]:
    """The server's own softmax (contract 3.8): double precision, one exact sum."""
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)
