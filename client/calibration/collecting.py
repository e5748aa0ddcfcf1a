"""From a run's answers to what can be fitted: which answers a calibration is for, why the others are left out. Pure.

A calibration holds for one readout and one prompt version, the server's default ones. Answers given in another way are
told apart here as the server tells them apart: past 16 options a prompt version has a wide form, and the levels of a
score are never rotated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from client.calibration.scores import Scored, scores_of
from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Given, Outcome

QUESTION_TYPES = ("choice", "noul", "score")  # in the server's order


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    question_type: str
    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Collected:
    """items: of all types, in the order of the file. served_at: temperatures of the answers, undone here."""

    items: tuple[Scored, ...]
    left_out: tuple[LeftOut, ...]
    served_at: tuple[float, ...]

    def of_type(self, question_type: str) -> tuple[Scored, ...]:
        return tuple(item for item in self.items if item.question_type == question_type)

    @property
    def bounded(self) -> int:
        return sum(item.bounded for item in self.items)


def collect(items: Sequence[Item], outcomes: Sequence[Outcome], *, readout: str, prompt_version: str) -> Collected:
    """readout, prompt_version: those the calibration is for."""
    answers = {outcome.item_id: outcome for outcome in outcomes if outcome.order == GIVEN}
    scored: list[Scored] = []
    left_out: Counter[tuple[str, str]] = Counter()
    served_at: set[float] = set()
    for item in items:
        outcome = answers.get(item.id)
        if outcome is None or outcome.answer is None or not outcome.valid:
            left_out[item.question_type, "no valid answer"] += 1
            continue
        given = outcome.answer
        used = (given.readout, given.prompt_version)
        if used != _for_type(item.question_type, readout, prompt_version):
            left_out[item.question_type, f"answered by {used[0]} with {used[1]}"] += 1
            continue
        served_at.add(given.temperature)
        scored.append(_scored(item, given))
    return Collected(
        items=tuple(scored),
        left_out=tuple(
            LeftOut(question_type=name, reason=reason, count=count)
            for (name, reason), count in sorted(left_out.items())
        ),
        served_at=tuple(sorted(served_at)),
    )


def _scored(item: Item, given: Given) -> Scored:
    scores, bounded = given.option_logits, False
    if scores is None:
        scores, bounded = scores_of(given.probabilities, given.temperature, question_type=item.question_type)
    return Scored(
        item_id=item.id,
        group=item.group or f"item {item.id}",
        question_type=item.question_type,
        scores=tuple(scores),
        expected=given.option_ids.index(item.expected),
        bounded=bounded,
    )


def _for_type(question_type: str, readout: str, prompt_version: str) -> tuple[str, str]:
    if question_type == "score" and readout == "letters-rotated":
        return "letters", prompt_version
    return readout, prompt_version
