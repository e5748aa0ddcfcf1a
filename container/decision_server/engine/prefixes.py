"""Which computed prefixes are kept for later tasks: the most recently used ones, as copies in host memory.

Knows which copy serves a task best, not how copies are made or put back. For the engine's thread alone; its counters
are plain numbers that any thread may read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_server.engine.layout import LEAST_WORTH, Computed, Layout
from decision_server.scoring import PrefixCounters, ScoringTask


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A prefix and the engine's copy of what the model remembers of it."""

    computed: Computed
    memory: NDArray[np.uint8]


class KeptPrefixes:
    """At most `capacity` copies, the least recently used out first.

    cuttable: whether the model can be cut back to a beginning of what was put back.
    """

    def __init__(self, capacity: int, layout: Layout, counters: PrefixCounters, *, cuttable: bool) -> None:
        self._capacity = capacity
        self._layout = layout
        self._counters = counters
        self._cuttable = cuttable
        self._kept: list[Kept] = []  # the least recently used first

    def wants(self, computed: Computed) -> bool:
        """Whether a copy of this prefix would serve tasks that none of the kept ones serves. If not, one was used."""
        if self._capacity == 0 or len(computed.tokens) < LEAST_WORTH:
            return False
        for one in reversed(self._kept):
            if self._covers(one.computed, computed):
                self._use(one)
                return False
        return True

    def make_room(self, computed: Computed) -> None:
        """Lets go of what a copy of this prefix replaces, before it is made: memory never holds both."""
        for one in [one for one in self._kept if self._covers(computed, one.computed)]:
            self._remove(one)
        while len(self._kept) >= self._capacity:
            self._remove(self._kept[0])
            self._counters.evictions += 1

    def add(self, prefix: Kept) -> None:
        """Needs room."""
        self._kept.append(prefix)
        self._counters.kept_prefixes += 1
        self._counters.kept_bytes += prefix.memory.nbytes

    def best(self, task: ScoringTask) -> tuple[int, Kept | None]:
        """The copy that serves the task best, and how many of the task's first tokens it holds."""
        length, best = 0, None
        for one in self._kept:
            found = self._layout.reusable(one.computed, task)
            if not self._cuttable and found < len(one.computed.tokens):
                continue
            # among equals the shortest is the quickest to put back
            if found > length or (best and found == length and len(one.computed.tokens) < len(best.computed.tokens)):
                length, best = found, one
        return length, best

    def used(self, prefix: Kept) -> None:
        self._use(prefix)

    def clear(self) -> None:
        for one in list(self._kept):
            self._remove(one)

    def _covers(self, one: Computed, other: Computed) -> bool:
        return self._layout.covers(one, other) if self._cuttable else one.tokens == other.tokens

    def _use(self, prefix: Kept) -> None:
        place = self._place(prefix)
        self._kept.append(self._kept.pop(place))

    def _remove(self, prefix: Kept) -> None:
        del self._kept[self._place(prefix)]
        self._counters.kept_prefixes -= 1
        self._counters.kept_bytes -= prefix.memory.nbytes

    def _place(self, prefix: Kept) -> int:
        return next(place for place, one in enumerate(self._kept) if one is prefix)
