"""All that is said of a run's answers, in one value. Each number's formula stands where it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from client.evaluation.agreement import Flips, Paraphrases, flips_on_reversal, paraphrase_agreement
from client.evaluation.asked import Answered, answered
from client.evaluation.intervals import Share, share
from client.evaluation.item import Item
from client.evaluation.ordinal import Ordinal, ordinal_error
from client.evaluation.outcomes import GIVEN, REVERSED, Outcome
from client.evaluation.proper_scores import brier, floored, negative_log_likelihood
from client.evaluation.reliability import Bin, reliability
from client.evaluation.timing import Timing, timing

__all__ = ["LabelMass", "Part", "Summary", "summarise"]

LOW_MASS = 0.5  # below it the server warns, too


@dataclass(frozen=True, kw_only=True)
class Part:
    """Of some items. validity: answered with a distribution over their options, of all that were asked.

    accuracy: of all that were asked; one without a valid answer counts as wrong. The others are of valid answers alone,
    and None where there are none. floored: answers whose likelihood was raised to the floor.
    """

    name: str
    validity: Share
    accuracy: Share
    brier: float | None
    negative_log_likelihood: float | None
    floored: int
    calibration_error: float | None


@dataclass(frozen=True, kw_only=True)
class LabelMass:
    """median: of the share of the model's probability that fell on the options. low: those below LOW_MASS."""

    median: float
    low: Share


@dataclass(frozen=True, kw_only=True)
class Summary:
    """by_…: in the order of the file. Where nothing can be said, None: no paraphrases, no score questions."""

    whole: Part
    by_family: tuple[Part, ...]
    by_type: tuple[Part, ...]
    by_language: tuple[Part, ...]
    reliability: tuple[Bin, ...]
    ordinal: Ordinal | None
    paraphrases: Paraphrases | None
    flips: Flips | None
    label_mass: LabelMass | None
    timing: Timing


def summarise(items: Sequence[Item], outcomes: Sequence[Outcome], *, hourly_price: float | None = None) -> Summary:
    """Of the items that were asked; an item of which there is no outcome is not counted."""
    asked = {outcome.item_id for outcome in outcomes if outcome.order == GIVEN}
    counted = [item for item in items if item.id in asked]
    pairs = answered(counted, outcomes)
    return Summary(
        whole=_part("all", counted, pairs),
        by_family=_parts(counted, pairs, lambda item: item.family),
        by_type=_parts(counted, pairs, lambda item: item.question_type),
        by_language=_parts(counted, pairs, lambda item: item.language or ""),
        reliability=reliability(pairs).bins,
        ordinal=ordinal_error(pairs),
        paraphrases=paraphrase_agreement(pairs),
        flips=flips_on_reversal(pairs, answered(counted, outcomes, order=REVERSED)),
        label_mass=_label_mass(pairs),
        timing=timing(outcomes, hourly_price=hourly_price),
    )


def _parts(items: Sequence[Item], pairs: Sequence[Answered], key: Callable[[Item], str]) -> tuple[Part, ...]:
    """Empty where no item says."""
    names = list(dict.fromkeys(key(item) for item in items))
    if names in ([], [""]):
        return ()
    return tuple(
        _part(name, [item for item in items if key(item) == name], [pair for pair in pairs if key(pair.item) == name])
        for name in names
    )


def _part(name: str, items: Sequence[Item], pairs: Sequence[Answered]) -> Part:
    return Part(
        name=name,
        validity=share(len(pairs), len(items)),
        accuracy=share(sum(pair.right for pair in pairs), len(items)),
        brier=brier(pairs),
        negative_log_likelihood=negative_log_likelihood(pairs),
        floored=floored(pairs),
        calibration_error=reliability(pairs).error,
    )


def _label_mass(pairs: Sequence[Answered]) -> LabelMass | None:
    masses = [pair.given.label_mass for pair in pairs]
    if not masses:
        return None
    return LabelMass(median=float(np.median(masses)), low=share(sum(mass < LOW_MASS for mass in masses), len(masses)))
