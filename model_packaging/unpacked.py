"""A packed model as a folder, for as long as it is needed. What is handed out was verified before."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .disk_space import require_free_space
from .integrity import CHUNK
from .manifest import MANIFEST_NAME, Manifest, listed_files, manifest_bytes
from .members import each_member
from .verify import verify


@contextmanager
def unpacked(source: Path, *, below: Path) -> Iterator[tuple[Path, Manifest]]:
    """source: model.tar.gz, or a folder it was unpacked into, which is handed out itself.

    below: an existing folder with room for the unpacked model; nothing is left there. Raises PackagingError.
    """
    manifest = verify(source).manifest
    if source.is_dir():
        yield source, manifest
        return
    require_free_space(below, sum(each.bytes for each in listed_files(manifest)), "the unpacked model")
    folder = Path(tempfile.mkdtemp(prefix=".unpacked-", dir=below))
    try:
        (folder / MANIFEST_NAME).write_bytes(manifest_bytes(manifest))
        for member in each_member(source, {each.file for each in listed_files(manifest)}):
            with (folder / member.name).open("wb") as out:
                while block := member.stream.read(CHUNK):
                    out.write(block)
        yield folder, manifest
    finally:
        shutil.rmtree(folder, ignore_errors=True)
