"""Items beside what they were answered: what every metric is computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Given, Outcome

SHOWN = 20  # options


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An item with a valid answer."""

    item: Item
    given: Given

    @property
    def right(self) -> bool:
        return self.given.top == self.item.expected


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """An item that was asked and has no valid answer. code: the kind of why, in a word or two."""

    item_id: str
    code: str
    why: str


def answered(items: Sequence[Item], outcomes: Sequence[Outcome], *, order: str = GIVEN) -> tuple[Answered, ...]:
    """Those with a valid answer over their own options, in the order of the items."""
    return tuple(each for each in _judged(items, outcomes, order) if isinstance(each, Answered))


def unanswered(items: Sequence[Item], outcomes: Sequence[Outcome], *, order: str = GIVEN) -> tuple[Unanswered, ...]:
    """All others that were asked, in the order of the items."""
    return tuple(each for each in _judged(items, outcomes, order) if isinstance(each, Unanswered))


def _judged(items: Sequence[Item], outcomes: Sequence[Outcome], order: str) -> Iterator[Answered | Unanswered]:
    found = {outcome.item_id: outcome for outcome in outcomes if outcome.order == order}
    for item in items:
        if (outcome := found.get(item.id)) is not None:
            yield _judge(item, outcome)


def _judge(item: Item, outcome: Outcome) -> Answered | Unanswered:
    given = outcome.answer
    if given is None:
        why = outcome.error or "no answer: it is not known why"
        return Unanswered(item_id=item.id, code=why.partition(":")[0], why=why)
    if not given.valid:
        told = ", ".join(f"{each:g}" for each in given.probabilities[:SHOWN])
        more = "" if len(given.probabilities) <= SHOWN else " …"
        why = f"the answer is no distribution over its {len(given.option_ids)} options: {told}{more}"
        return Unanswered(item_id=item.id, code="no distribution", why=why)
    if set(given.option_ids) != set(item.option_ids):
        theirs, own = (", ".join(each) for each in (given.option_ids[:SHOWN], item.option_ids[:SHOWN]))
        return Unanswered(
            item_id=item.id, code="other options", why=f"answered over other options: {theirs}; asked were {own}"
        )
    return Answered(item=item, given=given)
