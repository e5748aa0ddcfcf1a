"""Items and outcomes by their numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from client.decisions import Decision, Noul, Option, Question, Score
from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Given, Outcome

LETTERS = "abcdefghij"


def item(name: str, expected: str, *, options: int = 3, family: str = "f", group: str | None = None) -> Item:
    """Options a, b, c …"""
    listed = tuple(Option(id=each, description=f"It is {each}.") for each in LETTERS[:options])
    decision = Decision(id=name, state=f"state of {name}", question="Which?", options=listed)
    return Item(id=name, state=decision.state, question=decision, expected=expected, family=family, group=group)


def noul(name: str, expected: str) -> Item:
    return Item(id=name, state="s", question=Noul(instructions="So?"), expected=expected)


def score(name: str, expected: str, *, levels: int = 4) -> Item:
    asked: Question = Score(instructions="How much?", levels=tuple(f"level {each}" for each in range(levels)))
    return Item(id=name, state="s", question=asked, expected=expected)


def given(asked: Item, probabilities: Sequence[float]) -> Given:
    return Given(
        question_type=asked.question_type,
        option_ids=asked.option_ids,
        probabilities=tuple(probabilities),
        option_logits=None,
        label_mass=0.9,
        readout="letters",
        prompt_version="direct-options-v1",
        prompt_sha256="0" * 64,
        temperature=1.0,
        calibration_version=None,
        rotation_spread=None,
        warnings=(),
        abstained=None,
        input_tokens=100,
        cached_tokens=40,
        model="made",
    )


def outcome(asked: Item, probabilities: Sequence[float] | None, *, order: str = GIVEN, started: int = 0) -> Outcome:
    """None: not answered."""
    return Outcome(
        item_id=asked.id,
        order=order,
        answer=None if probabilities is None else given(asked, probabilities),
        seconds=1.0,
        began=float(started),
        started=started,
        error="unfit: too long" if probabilities is None else None,
    )


def binary(tops: Sequence[float], right: Sequence[bool]) -> tuple[list[Item], list[Outcome]]:
    """Items of two options, answered `a` with these probabilities, which is right or not."""
    items = [item(f"i{number}", "a" if good else "b", options=2) for number, good in enumerate(right)]
    outcomes = [
        replace(outcome(each, (top, 1 - top)), started=number)
        for number, (each, top) in enumerate(zip(items, tops, strict=True))
    ]
    return items, outcomes
