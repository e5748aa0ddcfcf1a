"""What every dialect of decisions makes of a body: decisions to score, and how to say their answers.

Told apart by `dialects.py`, read by a module a dialect. Chat completions are none of these: they generate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from decision_server.decisions import Decision
from decision_server.places import Place
from decision_server.results import BatchTiming, Result
from decision_server.wire.dialects import Dialect


class Asked(Protocol):
    """A typed request, checked as far as it can be without the model."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """At least one, in the order to answer."""

    def place(self, index: int, field: str | None) -> Place:
        """Where decisions[index] stands in the body, or what its `field` (of Decision) was made from."""

    def answer(self, results: Sequence[Result], timing: BatchTiming) -> bytes:
        """The body of the answer. results: one a decision, in their order."""
