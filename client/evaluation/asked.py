"""Items beside what they were answered: what every metric is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Given, Outcome


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An item with a valid answer."""

    item: Item
    given: Given

    @property
    def right(self) -> bool:
        return self.given.top == self.item.expected


def answered(items: Sequence[Item], outcomes: Sequence[Outcome], *, order: str = GIVEN) -> tuple[Answered, ...]:
    """Those with a valid answer over their own options, in the order of the items."""
    found = {outcome.item_id: outcome.answer for outcome in outcomes if outcome.order == order and outcome.valid}
    pairs = ((item, found.get(item.id)) for item in items)
    return tuple(
        Answered(item=item, given=given)
        for item, given in pairs
        if given is not None and set(given.option_ids) == set(item.option_ids)
    )
