"""Which control groups of the kernel this process is in, versions 1 and 2. What their files say others know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Group:
    """folder: where its files are; a parent's limits hold as well. version: 1 or 2, whose files have other names."""

    version: int
    folder: Path


def groups(root: Path, *, controller: str, mounts: Sequence[str]) -> Iterator[Group]:
    """The process's group and its parents. mounts: the folders that version 1 has the controller in.

    root: where the kernel's files are looked up.
    """
    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        hierarchy, controllers, group = line.split(":", 2)
        if hierarchy == "0":
            yield from _upwards(root / "sys/fs/cgroup", group, version=2)
        elif controller in controllers.split(","):
            for mount in mounts:
                yield from _upwards(root / "sys/fs/cgroup" / mount, group, version=1)


def text(file: Path) -> str | None:
    """One of the kernel's small files; None where there is none."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return None


def _upwards(mount: Path, group: str, *, version: int) -> Iterator[Group]:
    """The group's folder below `mount`, its parents, and `mount` itself, which is the group inside a container."""
    parts = [part for part in group.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        yield Group(version=version, folder=mount.joinpath(*parts[:length]))
