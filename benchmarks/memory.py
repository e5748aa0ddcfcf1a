"""The peak memory of the server, beside what it keeps on purpose at that time.

Kept prefixes come and go, so a peak of the whole run and the prefixes at its end do not belong together: the kernel's
high-water mark is read and set back after each turn, and set against the prefixes kept before or after that turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import machine

_KEPT = re.compile(r"^decision_kept_prefix_bytes ([\d.e+]+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Bytes of the process that holds the engine, and of them kept prefixes."""

    worker: int
    kept: int

    @property
    def beyond(self) -> int:
        return self.worker - self.kept


class MemoryWatch:
    """highest: of all turns that were noted, the one with the most beyond kept prefixes."""

    def __init__(self, pid: int, metrics: Callable[[], str]) -> None:
        self._pid = pid
        self._metrics = metrics
        self._kept = self._kept_now()
        self.highest = Peak(worker=machine.peak_memory(pid), kept=self._kept)

    def note(self) -> None:
        """Call after each turn, while the server is idle."""
        before, self._kept = self._kept, self._kept_now()
        peak = Peak(worker=machine.peak_memory(self._pid), kept=max(before, self._kept))
        Path(f"/proc/{self._pid}/clear_refs").write_text("5")  # the high-water mark is set back to what is held now
        if peak.beyond > self.highest.beyond:
            self.highest = peak

    def _kept_now(self) -> int:
        found = _KEPT.search(self._metrics())
        if found is None:
            raise RuntimeError("the server's metrics do not say decision_kept_prefix_bytes")
        return int(float(found.group(1)))
