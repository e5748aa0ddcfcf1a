"""Hands out the members of a model archive one by one, as a stream. For archives that were verified before."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import PackagingError
from .integrity import HashingReader
from .tar_members import tar_members


@dataclass(frozen=True, kw_only=True)
class Member:
    """stream: its bytes, hashed as they are read, until the next member is asked for."""

    name: str
    stream: HashingReader


def each_member(archive: Path, names: Collection[str]) -> Iterator[Member]:
    """Those of `names` that the archive holds, in its order."""
    if not names:
        return
    with gzip.open(archive) as unpacked:
        for member in tar_members(unpacked, where=str(archive)):
            if member.name in names:
                yield Member(name=member.name, stream=HashingReader(member.content))


@contextmanager
def member_content(archive: Path, name: str) -> Iterator[HashingReader]:
    for member in each_member(archive, {name}):
        yield member.stream
        return
    raise PackagingError(f"{archive}: holds no member {name!r}: it has changed since it was verified")
