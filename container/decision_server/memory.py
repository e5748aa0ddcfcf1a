"""How much memory this process may use at most, and whether a context fits into it.

The kernel lends more than there is: keys and values of a context that is too long fill the memory until the container
is killed, which nobody can read a reason from. Knows the kernel's files and nothing of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from decision_server.control_groups import Group, groups, text
from decision_server.model_errors import StartupFailure

_BYTES = 2  # a key or a value in the context, which is of F16
_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Available:
    """bytes: no more than that may be used; what is used already is not always off it. source: in words for errors."""

    bytes: int
    source: str


def available(*, root: Path = Path("/")) -> Available | None:
    """The smallest of the control groups' limits and of what the machine has free. None where the kernel says neither.

    root: where the kernel's files are looked up.
    """
    found = [
        Available(bytes=int(limit), source="the container's memory limit")
        for group in groups(root, controller="memory", mounts=("memory",))
        if (limit := _limit(group)) is not None and limit.isdecimal()
    ]
    for line in (text(root / "proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            found.append(Available(bytes=int(line.split()[1]) * 1024, source="what this machine has free"))
    return min(found, key=lambda one: one.bytes, default=None)


def require_room(*, n_ctx: int, token_values: int, root: Path = Path("/")) -> None:
    """Raises StartupFailure where the keys and values alone of a context of n_ctx tokens do not fit.

    token_values: keys and values that a token has in all layers together, at least.
    """
    room = available(root=root)
    token_bytes = token_values * _BYTES
    needed = n_ctx * token_bytes
    if room is None or needed <= room.bytes:
        return
    raise StartupFailure(
        f"n_ctx: {n_ctx} tokens need {-(-needed // _MIB)} MiB for keys and values alone, {token_bytes} bytes each;"
        f" {room.bytes // _MIB} MiB are available ({room.source}). Remedy: set DECISION_N_CTX to"
        f" {room.bytes // token_bytes} at most, or serve on an instance of more memory"
    )


def _limit(group: Group) -> str | None:
    return text(group.folder / ("memory.max" if group.version == 2 else "memory.limit_in_bytes"))
