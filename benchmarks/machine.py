"""Facts of the machine that belong beside any figure, and how much of it others used meanwhile. Linux only (/proc)."""

from __future__ import annotations

import os
import platform
import re
import time
from importlib import metadata
from pathlib import Path
from typing import Any


def facts() -> dict[str, Any]:
    """No host name and no path: what a reader needs to judge figures from elsewhere."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {
        "cpu": model.group(1) if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory.group(1)) / 2**20, 1) if memory else None,
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "llama_cpp_python": metadata.version("llama-cpp-python"),
        "gunicorn": metadata.version("gunicorn"),
    }


class Foreign:
    """Watches the whole machine's busy time; what is not ours was somebody else's."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._busy, self._stolen = _busy()

    def share(self, own_cpu_seconds: float) -> tuple[float, float]:
        """Since construction: the share of all cores that other processes used, and that the hypervisor took."""
        busy, stolen = _busy()
        available = (time.perf_counter() - self._began) * (os.cpu_count() or 1)
        return (
            max(0.0, busy - self._busy - own_cpu_seconds) / available,
            max(0.0, stolen - self._stolen) / available,
        )


def _busy() -> tuple[float, float]:
    """Seconds of all CPUs, and those stolen by the hypervisor."""
    fields = [int(part) for part in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system, _idle, _waiting, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq) / tick, steal / tick


def own_cpu_seconds() -> float:
    """CPU time of this process until now."""
    times = os.times()
    return times.user + times.system


def peak_memory(pid: int) -> int:
    """Bytes of RAM that a process held at most, pages of mapped files included."""
    found = re.search(r"^VmHWM:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"process {pid} has no VmHWM")
    return int(found.group(1)) * 1024


def memory_now(pid: int) -> int:
    """Bytes of RAM that a process holds."""
    found = re.search(r"^VmRSS:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"process {pid} has no VmRSS")
    return int(found.group(1)) * 1024


def private_memory(pid: int) -> int:
    """Bytes that the process shares with nobody."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"^Private_(?:Clean|Dirty):\s*(\d+) kB$", text, re.MULTILINE)) * 1024
