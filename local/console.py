"""What the commands say while they work: one line a step, with the time since the start. Nothing is overwritten."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

Say = Callable[[str], None]


class Console:
    """Lines from several threads never mix."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._lock = threading.Lock()

    @property
    def colour(self) -> bool:
        return sys.stdout.isatty()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def step(self, text: str) -> None:
        self.plain(f"[{self.seconds:6.1f} s] {text}")

    def plain(self, text: str) -> None:
        with self._lock:
            try:
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
            except BrokenPipeError:
                _fall_silent()


def _fall_silent() -> None:
    """Whoever read this (`| head`) has gone. That must not end a deployment halfway: the rest is said to nobody."""
    nobody = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nobody, sys.stdout.fileno())
    os.close(nobody)
