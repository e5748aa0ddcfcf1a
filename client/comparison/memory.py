"""How much memory the processes of a local server held at most. Knows Linux's /proc and nothing of servers."""

from __future__ import annotations

import re
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)
_PARENT = re.compile(r"^PPid:\s*(\d+)$", re.MULTILINE)


def peak_bytes_below(pid: int, *, proc: Path = Path("/proc")) -> int | None:
    """Of all descendants of a process that run now: the sum of each one's peak of resident memory.

    Pages of mapped files, such as the weights, count; pages that two of them share count twice. None where there are no
    descendants, or the system has no such numbers.
    """
    peaks = [_number(_PEAK, proc / str(each) / "status") for each in _descendants(pid, proc)]
    known = [each * 1024 for each in peaks if each is not None]
    return sum(known) if known else None


def _descendants(pid: int, proc: Path) -> set[int]:
    children: dict[int, list[int]] = {}
    for status in proc.glob("[0-9]*/status"):
        parent = _number(_PARENT, status)
        if parent is not None:
            children.setdefault(parent, []).append(int(status.parent.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _number(pattern: re.Pattern[str], status: Path) -> int | None:
    try:
        match = pattern.search(status.read_text(encoding="ascii", errors="replace"))
    except OSError:  # it ended meanwhile
        return None
    return None if match is None else int(match.group(1))
