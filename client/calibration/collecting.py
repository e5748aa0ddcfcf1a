"""From a run's answers to what can be fitted: which answers a calibration is for, why the others are left out. Pure.

A calibration holds for one readout and one prompt version, the server's default ones. Answers given in another way are
told apart here as the server tells them apart: past 16 options a prompt version has a wide form, and the levels of a
score are never rotated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from client.calibration.scores import Scored, probabilities_of, scores_of
from client.comparison.versus import group_of
from client.evaluation.asked import Answered, answered
from client.evaluation.item import Item
from client.evaluation.outcomes import Given, Outcome

QUESTION_TYPES = ("choice", "noul", "score")  # in the server's order


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    question_type: str
    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """An answered decision as the metrics see it, and as a fit does."""

    answer: Answered
    scored: Scored


@dataclass(frozen=True, kw_only=True)
class Collected:
    """labelled: in the order of the file. served_at: the temperatures that the answers were given at; undone here."""

    labelled: tuple[Labelled, ...]
    left_out: tuple[LeftOut, ...]
    served_at: tuple[float, ...]

    def of_type(self, question_type: str) -> tuple[Labelled, ...]:
        return tuple(each for each in self.labelled if each.scored.question_type == question_type)


def collect(items: Sequence[Item], outcomes: Sequence[Outcome], *, readout: str, prompt_version: str) -> Collected:
    """readout, prompt_version: those that the calibration is for."""
    found = {pair.item.id: pair for pair in answered(items, outcomes)}
    labelled: list[Labelled] = []
    left_out: Counter[tuple[str, str]] = Counter()
    for item in items:
        pair = found.get(item.id)
        if pair is None:
            left_out[item.question_type, "no valid answer"] += 1
            continue
        used = (pair.given.readout, pair.given.prompt_version)
        if used != _for_type(item.question_type, readout, prompt_version):
            left_out[item.question_type, f"answered by {used[0]} with {used[1]}"] += 1
            continue
        labelled.append(Labelled(answer=pair, scored=_scored(item, pair.given)))
    return Collected(
        labelled=tuple(labelled),
        left_out=tuple(
            LeftOut(question_type=name, reason=reason, count=count)
            for (name, reason), count in sorted(left_out.items())
        ),
        served_at=tuple(sorted({each.answer.given.temperature for each in labelled})),
    )


def at_temperature(labelled: Labelled, temperature: float) -> Answered:
    """The same answer as a server would have given it that divides its scores by this temperature."""
    given = replace(
        labelled.answer.given,
        probabilities=probabilities_of(labelled.scored.scores, temperature),
        temperature=temperature,
    )
    return replace(labelled.answer, given=given)


def _scored(item: Item, given: Given) -> Scored:
    scores, bounded = given.option_logits, False
    if scores is None:
        scores, bounded = scores_of(given.probabilities, given.temperature, question_type=item.question_type)
    return Scored(
        item_id=item.id,
        group=group_of(item),
        question_type=item.question_type,
        scores=scores,
        expected=given.option_ids.index(item.expected),
        bounded=bounded,
    )


def _for_type(question_type: str, readout: str, prompt_version: str) -> tuple[str, str]:
    if question_type == "score" and readout == "letters-rotated":
        return "letters", prompt_version
    return readout, prompt_version
