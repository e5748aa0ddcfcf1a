"""A run and all that is found of it: what both reports, for people and for programs, are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client.evaluation.asked import Answered, Unanswered, answered, unanswered
from client.evaluation.item import Item
from client.evaluation.journal import Settings
from client.evaluation.metrics import Summary, summarise
from client.evaluation.outcomes import Outcome
from client.evaluation.setups import Setup, setups
from client.evaluation.thresholds import Threshold, thresholds
from client.evaluation.verdict import Check, Limits, checks


@dataclass(frozen=True, kw_only=True)
class Findings:
    """pairs: the items with valid answers."""

    settings: Settings
    items: tuple[Item, ...]
    outcomes: tuple[Outcome, ...]
    pairs: tuple[Answered, ...]
    setups: tuple[Setup, ...]
    summary: Summary
    thresholds: tuple[Threshold, ...]
    checks: tuple[Check, ...]

    @property
    def wrongest(self) -> tuple[Answered, ...]:
        """The wrong answers, the surest first."""
        wrong = [pair for pair in self.pairs if not pair.right]
        return tuple(sorted(wrong, key=lambda pair: -pair.given.top_probability))

    @property
    def unanswered(self) -> tuple[Unanswered, ...]:
        return unanswered(self.items, self.outcomes)


def find(
    settings: Settings,
    items: Sequence[Item],
    outcomes: Sequence[Outcome],
    *,
    risks: Sequence[float],
    limits: Limits,
    hourly_price: float | None,
) -> Findings:
    summary = summarise(items, outcomes, hourly_price=hourly_price)
    return Findings(
        settings=settings,
        items=tuple(items),
        outcomes=tuple(outcomes),
        pairs=answered(items, outcomes),
        setups=setups(outcomes),
        summary=summary,
        thresholds=thresholds(items, outcomes, risks),
        checks=checks(summary, limits),
    )
