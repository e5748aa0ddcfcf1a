"""How probable each option's text is without evidence, kept from one request to the next.

It depends on question and options alone, so a question asked over many states is computed once. What is kept is what
the engine would compute again, bit for bit; so no answer depends on what happens to be kept.
"""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections import OrderedDict

from decision_server.scoring import ScoringTask

CAPACITY = 1024  # questions; at most 255 numbers each, so about 10 MB


class Baselines:
    """A bounded memory, the least recently used out first. Safe to use from many threads at once."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, tuple[float, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, task: ScoringTask) -> tuple[float, ...] | None:
        """The log-probability of each of the task's continuations, if it is kept; that counts as a use."""
        key = _key(task)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, task: ScoringTask, totals: tuple[float, ...]) -> None:
        key = _key(task)
        with self._lock:
            self._kept[key] = totals
            self._kept.move_to_end(key)
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)


def _key(task: ScoringTask) -> bytes:
    """32 bytes for what may be thousands of token ids. Lengths are part of it, so no two tasks spell the same."""
    digest = hashlib.sha256()
    for tokens in (task.tokens, *task.continuations):
        digest.update(array("q", (len(tokens), *tokens)).tobytes())
    return digest.digest()
