"""Made-up items and outcomes for tests of what is computed from them."""

from __future__ import annotations

from dataclasses import replace

from client.decisions import Choice
from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Outcome
from tests.client.evaluation.made import given


def item(name: str, *, group: str | None = None, expected: str = "a") -> Item:
    question = Choice(instructions="Which?", options={"a": "First.", "b": "Second."})
    return Item(id=name, state=f"State of {name}.", question=question, expected=expected, group=group)


def outcome(name: str, a: float | None, *, started: int = 0, seconds: float = 0.1, tokens: int = 10) -> Outcome:
    """a: the probability of option a; None where nothing was answered."""
    asked = item(name)
    answer = None if a is None else replace(given(asked, (a, 1 - a)), input_tokens=tokens, cached_tokens=None)
    return Outcome(
        item_id=name,
        order=GIVEN,
        answer=answer,
        seconds=seconds,
        began=1000.0 + started * seconds,
        started=started,
        error=None if answer else "deadline_exceeded: too late",
    )
