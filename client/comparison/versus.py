"""Two contestants on the same decisions: how far apart they are, and on which decisions. Pure.

A decision without a valid answer counts as wrong, as it does in a contestant's own accuracy: whoever asks has got no
right answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from client.comparison.paired import Interval, mcnemar_p, mean_difference
from client.evaluation.asked import answered
from client.evaluation.item import Item
from client.evaluation.outcomes import Outcome


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One contestant on one decision. answer: its top option; None where it gave no valid answer."""

    answer: str | None
    probability: float | None
    right: bool


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A decision that one of the two got right and the other got wrong. baseline, other: what each answered."""

    item: Item
    baseline: Verdict
    other: Verdict


@dataclass(frozen=True, kw_only=True)
class Versus:
    """difference: of accuracies, other − baseline, with its paired interval. changed: decisions with another answer,
    right or wrong. gained, lost: right in the other alone, right in the baseline alone; in the order of the file."""

    baseline: str
    other: str
    items: int
    difference: Interval
    changed: int
    gained: tuple[Flip, ...]
    lost: tuple[Flip, ...]
    mcnemar: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.difference.low > 0 or self.difference.high < 0


def verdicts(items: Sequence[Item], outcomes: Sequence[Outcome]) -> dict[str, Verdict]:
    """By the item's id."""
    found = {
        pair.item.id: Verdict(answer=pair.given.top, probability=pair.given.top_probability, right=pair.right)
        for pair in answered(items, outcomes)
    }
    nothing = Verdict(answer=None, probability=None, right=False)
    return {item.id: found.get(item.id, nothing) for item in items}


def versus(
    items: Sequence[Item],
    baseline: Mapping[str, Verdict],
    other: Mapping[str, Verdict],
    *,
    names: tuple[str, str],
    seed: int,
) -> Versus:
    """items: at least one. names: of the baseline and of the other. seed: of the bootstrap."""
    pairs = [(item, baseline[item.id], other[item.id]) for item in items]
    gained = tuple(Flip(item=item, baseline=a, other=b) for item, a, b in pairs if b.right and not a.right)
    lost = tuple(Flip(item=item, baseline=a, other=b) for item, a, b in pairs if a.right and not b.right)
    return Versus(
        baseline=names[0],
        other=names[1],
        items=len(items),
        difference=mean_difference(
            [float(b.right) - float(a.right) for _, a, b in pairs],
            [group_of(item) for item in items],
            seed=seed,
        ),
        changed=sum(a.answer != b.answer for _, a, b in pairs),
        gained=gained,
        lost=lost,
        mcnemar=mcnemar_p(len(lost), len(gained)),
    )


def group_of(item: Item) -> str:
    """Its paraphrases' group; an item without one is a group of its own, which no file's group is named like."""
    return f"group {item.group}" if item.group is not None else f"item {item.id}"
