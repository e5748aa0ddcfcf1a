"""Scores that are best, on average, for whoever states the probabilities that are true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from client.evaluation.asked import Answered

FLOOR = 2.0**-52  # a probability of 0 for what is right would cost ∞; scikit-learn's log_loss has the same floor


def brier(pairs: Sequence[Answered]) -> float | None:
    """mean Σₖ (pₖ − yₖ)², y being 1 for the expected option and 0 for the others: from 0, the best, to 2.

    Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78 (1950), in his own
    form over all classes. The form for yes-no questions that counts one class alone is half of it.
    """
    if not pairs:
        return None
    return float(np.mean([_squares(pair) for pair in pairs]))


def negative_log_likelihood(pairs: Sequence[Answered]) -> float | None:
    """mean −ln p(expected), p no less than FLOOR. ln n for whoever gives each of n options the same."""
    if not pairs:
        return None
    right = np.array([pair.given.of(pair.item.expected) for pair in pairs])
    return float(np.mean(-np.log(np.maximum(right, FLOOR))))


def floored(pairs: Sequence[Answered]) -> int:
    """How many answers gave the expected option less than FLOOR."""
    return sum(pair.given.of(pair.item.expected) < FLOOR for pair in pairs)


def _squares(pair: Answered) -> float:
    stated = np.array(pair.given.probabilities)
    true = np.array([option == pair.item.expected for option in pair.given.option_ids], dtype=float)
    return float(np.sum((stated - true) ** 2))
