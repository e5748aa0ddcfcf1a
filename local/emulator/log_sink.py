"""Where the output of builds and containers goes: a log stream of the emulated CloudWatch, and a file a person can
follow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

LineWriter = Callable[[str], None]


class LogSink:
    """Writes lines to a file and to one more place; hides the given secrets in both. Safe from several threads."""

    def __init__(self, *, path: Path, also: LineWriter) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file: TextIO = path.open("a", encoding="utf-8", buffering=1)
        self._also = also
        self._secrets: list[str] = []
        self._lock = threading.Lock()
        self._tail: list[str] = []

    def hide(self, secrets: Iterable[str]) -> None:
        """Shows `***` instead of each of these from now on, line by line where one spans lines."""
        parts = {line for secret in secrets for line in secret.splitlines()}
        # A secret of one or two characters would blank out half of every line.
        self._secrets = sorted((part for part in parts if len(part) > 2), key=len, reverse=True)

    def write(self, line: str) -> None:
        for secret in self._secrets:
            line = line.replace(secret, "***")
        with self._lock:
            if self._file.closed:
                return
            self._file.write(line + "\n")
            self._tail = [*self._tail[-49:], line]
        self._also(line)

    def tail(self) -> list[str]:
        """The last 50 lines."""
        with self._lock:
            return list(self._tail)

    def close(self) -> None:
        with self._lock:
            self._file.close()
