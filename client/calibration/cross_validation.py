"""Whether a fitted temperature helps with decisions that it was not fitted on: the numbers behind "kept". Pure.

Each fold's decisions are judged with a temperature that was fitted on the other folds. What is reported as "after" is
made of those answers alone, so none of it is flattered by the fit. The temperature that is written is fitted on all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client.calibration.fit import LEAST, MOST, fit_temperature, nll_of_each
from client.calibration.folds import fold_of_each
from client.calibration.scores import Scored
from client.comparison.paired import Interval, mean_difference

LEAST_ITEMS, LEAST_GROUPS = 20, 10
FOLDS = 5
SEED = 20250101


@dataclass(frozen=True, kw_only=True)
class Validated:
    """One type of question. before: at temperature 1. after: each decision at the temperature of its own fold.

    temperature: fitted on all decisions. of_item: the temperature that each was judged with. improvement: of the mean
    negative log-likelihood, in nats, positive where after is better; its interval is a bootstrap's, over groups.
    """

    question_type: str
    items: tuple[Scored, ...]
    groups: int
    temperature: float
    fold_temperatures: tuple[float, ...]
    of_item: tuple[float, ...]
    nll_before: float
    nll_after: float
    improvement: Interval

    @property
    def kept(self) -> bool:
        return self.improvement.value > 0

    @property
    def certain(self) -> bool:
        """Whether the whole interval says so."""
        return self.improvement.low > 0

    @property
    def at_limit(self) -> bool:
        return self.temperature in (LEAST, MOST)


def validate(items: Sequence[Scored], *, folds: int = FOLDS, seed: int = SEED) -> Validated:
    """items: of one type, enough of them (`too_few`)."""
    fold_of = fold_of_each([each.group for each in items], folds=folds, seed=seed)
    temperatures = tuple(
        fit_temperature([item for item, fold in zip(items, fold_of, strict=True) if fold != held_out])
        for held_out in range(folds)
    )
    of_item = tuple(temperatures[fold] for fold in fold_of)
    before = nll_of_each(items, 1.0)
    after = nll_of_each(items, np.asarray(of_item))
    groups = [each.group for each in items]
    return Validated(
        question_type=items[0].question_type,
        items=tuple(items),
        groups=len(set(groups)),
        temperature=fit_temperature(items),
        fold_temperatures=temperatures,
        of_item=of_item,
        nll_before=float(before.mean()),
        nll_after=float(after.mean()),
        improvement=mean_difference((before - after).tolist(), groups, seed=seed),
    )


def too_few(items: Sequence[Scored], *, folds: int = FOLDS) -> str | None:
    """Why these are too few to fit on, in words; None where they are enough."""
    groups = len({each.group for each in items})
    least_groups = max(LEAST_GROUPS, 2 * folds)  # each fold with two at least
    if len(items) >= LEAST_ITEMS and groups >= least_groups:
        return None
    return (
        f"{len(items)} answered decisions in {groups} groups of paraphrases; {LEAST_ITEMS} in {least_groups} are needed"
    )
