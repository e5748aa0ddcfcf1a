"""Hands out the members of a model archive one by one, as a stream. For archives that were verified before."""

from __future__ import annotations

import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from .integrity import HashingReader


@dataclass(frozen=True, kw_only=True)
class Member:
    """stream: its bytes, hashed as they are read, until the next member is asked for."""

    name: str
    stream: HashingReader


def each_member(archive: Path, names: Collection[str]) -> Iterator[Member]:
    """Those of `names` that the archive holds, in its order."""
    if not names:
        return
    with tarfile.open(archive, "r|gz") as tar:
        for info in tar:
            content = tar.extractfile(info) if info.name in names else None
            if content is not None:
                yield Member(name=info.name, stream=HashingReader(content))
