"""Made-up items and outcomes for tests of what is computed from them."""

from __future__ import annotations

from client.decisions import Choice
from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Given, Outcome


def item(name: str, *, group: str | None = None, expected: str = "a") -> Item:
    question = Choice(instructions="Which?", options={"a": "First.", "b": "Second."})
    return Item(id=name, state=f"State of {name}.", question=question, expected=expected, group=group)


def outcome(name: str, a: float | None, *, started: int = 0, seconds: float = 0.1, tokens: int = 10) -> Outcome:
    """a: the probability of option a; None where nothing was answered."""
    given = None
    if a is not None:
        given = Given(
            question_type="choice",
            option_ids=("a", "b"),
            probabilities=(a, 1 - a),
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
            input_tokens=tokens,
            cached_tokens=None,
            model="made-up",
        )
    return Outcome(
        item_id=name,
        order=GIVEN,
        answer=given,
        seconds=seconds,
        began=1000.0 + started * seconds,
        started=started,
        error=None if given else "deadline_exceeded: too late",
    )
