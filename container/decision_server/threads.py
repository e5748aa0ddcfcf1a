"""How many threads the engine should compute with: what the CPU quota allows, physical cores first.

A second hyper-thread of a core adds no vector units, and spinning threads beyond the quota stop each other. Knows the
kernel's files (quotas of control groups, CPU topology) and nothing of the engine.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from decision_server.control_groups import groups, text


@dataclass(frozen=True, kw_only=True)
class ThreadChoice:
    """A number of threads and the reason for it, in words for the log."""

    n_threads: int
    reason: str


def choose(explicit: int | None, *, root: Path = Path("/"), cpus: Set[int] | None = None) -> ThreadChoice:
    """The setting where it is given, else the smaller of CPU quota and physical cores, at least 1.

    root: where the kernel's files are looked up. cpus: the CPUs this process may run on.
    """
    if explicit is not None:
        return ThreadChoice(n_threads=explicit, reason="DECISION_N_THREADS")
    usable = os.sched_getaffinity(0) if cpus is None else cpus
    cores = _physical_cores(root, usable)
    quota = _quota(root)
    if quota is not None and quota < cores:
        return ThreadChoice(n_threads=max(1, int(quota)), reason=f"CPU quota of {quota:g} on {cores} physical cores")
    return ThreadChoice(n_threads=cores, reason=f"{cores} physical cores of {len(usable)} usable CPUs, no lower quota")


def _physical_cores(root: Path, cpus: Set[int]) -> int:
    """Distinct sets of hyper-thread siblings among `cpus`. A CPU whose topology the kernel hides counts as a core."""
    cores = set()
    for cpu in cpus:
        siblings = text(root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(siblings or f"cpu {cpu}")
    return max(1, len(cores))


def _quota(root: Path) -> float | None:
    """The lowest limit among this process's control group and its parents, in CPUs. None: no limit."""
    limits = []
    for group in groups(root, controller="cpu", mounts=("cpu,cpuacct", "cpu")):
        limits.append(_v2_limit(group.folder / "cpu.max") if group.version == 2 else _v1_limit(group.folder))
    return min((limit for limit in limits if limit is not None), default=None)


def _v2_limit(file: Path) -> float | None:
    quota, period = [*(text(file) or "max 100000").split(), "100000"][:2]
    return None if quota == "max" else int(quota) / int(period)


def _v1_limit(folder: Path) -> float | None:
    quota, period = text(folder / "cpu.cfs_quota_us"), text(folder / "cpu.cfs_period_us")
    if quota is None or period is None or int(quota) <= 0:
        return None
    return int(quota) / int(period)
