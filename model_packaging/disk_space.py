"""Whether the disks have room for work before it starts. Knows folders and bytes, not what is done there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import UnavailableError

SPARE_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Need:
    """bytes that `what` will put below `folder`, which need not exist yet."""

    folder: Path
    bytes: int
    what: str


def require_room(needs: Sequence[Need]) -> None:
    """Raises UnavailableError for a disk that has too little for all that is to go there, with every number."""
    disks: dict[int, list[Need]] = {}
    for need in needs:
        if need.bytes > 0:
            disks.setdefault(_existing(need.folder).stat().st_dev, []).append(need)
    for wanted in disks.values():
        folder = wanted[0].folder
        free = shutil.disk_usage(_existing(folder)).free
        total = sum(each.bytes for each in wanted) + SPARE_BYTES
        if free < total:
            parts = ", ".join(f"{each.what} {each.bytes}" for each in wanted)
            raise UnavailableError(
                f"{folder}: {free} bytes free; {total} needed: {parts}, and {SPARE_BYTES} to spare. Free some space or "
                "choose another folder with --output or --cache-dir"
            )


def require_free_space(folder: Path, needed: int, what: str) -> None:
    """`require_room` for one thing."""
    require_room([Need(folder=folder, bytes=needed, what=what)])


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())
