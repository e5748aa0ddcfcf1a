"""Places: how many requests of one kind may wait or run at once. Counted under the scheduler's lock.

Decisions and chats have places of their own, so neither kind can keep the other out.
"""

from __future__ import annotations

from collections.abc import Callable

from decision_server.errors import Refusal


class Places:
    """of: what is admitted, in words. taken: may be read without the lock."""

    def __init__(self, limit: int, *, of: str) -> None:
        self.limit = limit
        self.taken = 0
        self._of = of

    def take(self, free_in_seconds: Callable[[], int]) -> None:
        """free_in_seconds: when a place should be free, asked only where none is. Raises Refusal."""
        if self.taken >= self.limit:
            raise Refusal(
                "queue_full",
                f"{self.taken} {self._of} are waiting or running, the limit is {self.limit}; retry later",
                retry_after_seconds=free_in_seconds(),
            )
        self.taken += 1

    def give_back(self) -> None:
        self.taken -= 1
