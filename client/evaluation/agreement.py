"""Whether an answer stays the same when only the form of the question changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from client.evaluation.asked import Answered
from client.evaluation.intervals import Share, share


@dataclass(frozen=True, kw_only=True)
class Paraphrases:
    """groups: those whose items all got one answer. pairs: of two items of a group, those with the same answer."""

    groups: Share
    pairs: Share


@dataclass(frozen=True, kw_only=True)
class Flips:
    """Of items asked again with their options the other way round. flipped: those whose answer changed.

    moved: the mean, over items, of how far the probability of one option moved at most.
    """

    flipped: Share
    moved: float | None


def paraphrase_agreement(pairs: Sequence[Answered]) -> Paraphrases | None:
    """Over groups of two or more items with an answer each, right or wrong; None where there are none."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        if pair.item.group is not None:
            groups[pair.item.group].append(pair.given.top)
    several = [answers for answers in groups.values() if len(answers) > 1]
    if not several:
        return None
    twos = [first == second for answers in several for first, second in combinations(answers, 2)]
    return Paraphrases(
        groups=share(sum(len(set(answers)) == 1 for answers in several), len(several)),
        pairs=share(sum(twos), len(twos)),
    )


def flips_on_reversal(given: Sequence[Answered], turned: Sequence[Answered]) -> Flips | None:
    """turned: the answers to the reversed askings; None where there are none. Only items with both answers count."""
    first = {pair.item.id: pair for pair in given}
    both = [(first[pair.item.id], pair) for pair in turned if pair.item.id in first]
    if not both:
        return None
    moves = [
        max(abs(one.given.of(option) - two.given.of(option)) for option in one.given.option_ids) for one, two in both
    ]
    changed = sum(one.given.top != two.given.top for one, two in both)
    return Flips(flipped=share(changed, len(both)), moved=sum(moves) / len(moves))
