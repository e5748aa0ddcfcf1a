"""A caller as its socket shows it: whether it is still there, and whether it takes what is sent. Linux's poll alone.

sock: gunicorn's; None for a test client, which is always there and takes everything.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any


def gone(sock: Any) -> Callable[[], bool]:
    """Whether the caller has closed its side of the connection. A half-closed one counts: no HTTP client needs it."""
    if sock is None:
        return lambda: False
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return lambda: bool(poll.poll(0))


def takes(sock: Any) -> Callable[[float], bool]:
    """Whether a few kilobytes would go on their way at once, waited for at most so many seconds. True for a connection
    that is broken: sending will tell."""
    if sock is None:
        return lambda seconds: True
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    return lambda seconds: bool(poll.poll(max(0.0, seconds) * 1000))
