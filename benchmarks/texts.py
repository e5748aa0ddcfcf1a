"""Seeded evidence and questions for the workloads: plain English, new every time, as long as wanted. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

_WHO = ("The customer", "A new client", "The support agent", "Our supplier", "The branch manager", "A returning guest")
_DID = ("asks whether", "reports that", "insists that", "was told that", "believes that", "wrote twice that")
_WHAT = (
    "the invoice of last month", "the reset email", "the second parcel", "the warranty of the pump", "the new contract",
    "the room by the lake", "the refund for the broken lamp", "the update of the app", "the order with the blue label",
)  # fmt: skip
_IS = ("never arrived", "was paid twice", "has a wrong address", "came a week late", "was cancelled", "is still open")
_MORE = (
    "and wants an answer before Friday", "although the terms say otherwise", "because nobody called back",
    "after three calls to the hotline", "while the branch was closed", "and has attached a photo",
)  # fmt: skip
_ASKS = (
    "Which team should handle this?", "Is a refund due?", "How urgent is this?", "What does the writer want first?",
    "Is the tone angry?", "Does the text name a date?", "Which product is this about?", "Should a person call back?",
    "Has this been reported before?", "Is the writer a paying customer?", "What went wrong?", "Who is at fault?",
)  # fmt: skip
_OPTIONS = (
    "Account access and authentication support.", "Billing and payment support.", "Sales and product evaluation.",
    "Delivery and returns.", "Technical faults of the product.", "Complaints about staff.", "Legal and contracts.",
    "Press and partners.", "Spam or abuse.", "Nothing of these.",
)  # fmt: skip


def sentence(drawn: random.Random) -> str:
    number = drawn.randrange(1000, 99999)
    parts = [drawn.choice(part) for part in (_WHO, _DID, _WHAT, _IS, _MORE)]
    return f"{' '.join(parts)} (case {number})."


def decision(
    drawn: random.Random, name: str, state: object, *, options: int = 3, question: str | None = None
) -> dict[str, Any]:
    """As in a request's body. The question is one of twelve, told apart by a number, unless it is given."""
    asked = question or f"{drawn.choice(_ASKS)} (check {drawn.randrange(1000)})"
    listed = _OPTIONS[:options] if question else drawn.sample(_OPTIONS, options)
    return {
        "id": name,
        "state": state,
        "question": asked,
        "options": [{"id": f"o{place}", "description": text} for place, text in enumerate(listed)],
    }


def words_for(drawn: random.Random, count: Callable[[str], int], target: int) -> str:
    """Sentences, cut behind a word, for which `count` gives as close to `target` as a word allows, not above it; one
    word where even that is above."""
    words = sentence(drawn).split()
    while count(" ".join([*words, "x"])) <= target:
        words += sentence(drawn).split()
        if len(words) > 10 * target + 100:
            raise ValueError(f"{len(words)} words, and still at most {target}: `count` does not count them")
    while len(words) > 1 and count(" ".join(words)) > target:
        words.pop()
    return " ".join(words)
