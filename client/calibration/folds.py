"""Divides labelled decisions into folds for cross-validation; paraphrases of one decision stay in one fold. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence


def fold_of_each(groups: Sequence[str], *, folds: int, seed: int) -> tuple[int, ...]:
    """groups: of each item. → the fold of each item, 0 to folds - 1, none empty.

    Groups are taken in an order that the seed decides and the order of the items does not; each goes where the fewest
    items are. Raises ValueError where there are fewer groups than folds.
    """
    sizes = Counter(groups)
    if len(sizes) < folds:
        raise ValueError(f"folds: {folds} given; {len(sizes)} groups of paraphrases allow {len(sizes)} at most")
    names = sorted(sizes)
    random.Random(seed).shuffle(names)
    filled = [0] * folds
    fold_of: dict[str, int] = {}
    for name in names:
        fold_of[name] = min(range(folds), key=filled.__getitem__)
        filled[fold_of[name]] += sizes[name]
    return tuple(fold_of[group] for group in groups)
