"""Which computed prefixes are kept for later, and where a prompt is cut for them. Pure: no llama.cpp, no threads.

Why reuse changes nothing: a prompt is computed in segments that its own cuts fix, whether or not anything is reused,
and only a prefix that ends at one of these cuts is taken up. So the same numbers are added in the same order always.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_server.scoring import ScoringTask

# A segment of fewer rows costs almost as much as one of this many, so a cut sooner after another one earns nothing.
LEAST_SEGMENT = 16


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One computed prefix: its tokens and the engine's copy of what the model remembers of them."""

    tokens: tuple[int, ...]
    memory: NDArray[np.uint8]


class KeptPrefixes:
    """At most `capacity` prefixes, the least recently used out first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[tuple[int, ...], Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def has(self, tokens: tuple[int, ...]) -> bool:
        """Whether this very prefix is kept; that counts as a use."""
        if tokens in self._kept:
            self._kept.move_to_end(tokens)
            return True
        return False

    def wants(self, tokens: tuple[int, ...]) -> bool:
        """Whether a copy of this prefix should be made."""
        return self._capacity > 0 and not self.has(tokens)

    def add(self, prefix: Kept) -> None:
        self._kept[prefix.tokens] = prefix
        self._kept.move_to_end(prefix.tokens)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)

    def longest(self, task: ScoringTask, cuts: tuple[int, ...]) -> Kept | None:
        """The longest kept prefix of the task that ends at one of its cuts."""
        for cut in reversed(cuts):
            found = task.tokens[:cut]
            if self.has(found):
                return self._kept[found]
        return None

    def clear(self) -> None:
        self._kept.clear()


def cuts(task: ScoringTask) -> tuple[int, ...]:
    """Ascending lengths at which the task is cut: a function of the task alone, never of what happens to be kept."""
    result: list[int] = []
    for length in task.shared_lengths:
        if length - (result[-1] if result else 0) >= LEAST_SEGMENT and len(task.tokens) - length > 0:
            result.append(length)
    return tuple(result)
