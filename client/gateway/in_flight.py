"""How many requests are under way, so that a stop can wait for them."""

from __future__ import annotations

import threading


class InFlight:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count, self._closed = 0, False

    def enter(self) -> bool:
        """Whether the request may go on; then `leave` is owed."""
        with self._changed:
            self._count += not self._closed
            return not self._closed

    def leave(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def close(self, timeout: float) -> bool:
        """Lets nobody in any more, and waits for those inside. Whether all have left."""
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: self._count == 0, timeout)
