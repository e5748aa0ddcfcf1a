"""Puts a calibration into a model that is packed already: another archive, with the same weights and a new manifest.

The same model and the same calibration give the same bytes, and those that a build with that calibration gives.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .archive import Archive, write_archive
from .calibration import check_calibration
from .disk_space import require_free_space
from .errors import PackagingError
from .integrity import CHUNK, file_sha256
from .manifest import FileFacts, Manifest, identity, listed_files
from .members import each_member
from .provenance import PROVENANCE_NAME
from .verify import verify

CALIBRATION_NAME = "calibration.json"


def recalibrate(source: Path, calibration: Path, target: Path) -> tuple[Archive, Manifest]:
    """source: model.tar.gz, or a folder it was unpacked into; a calibration that it has is replaced.

    Writes `target` whole or not at all. Raises PackagingError where the source is no model, the calibration is not for
    it, or the target is there already.
    """
    if target.exists():
        raise PackagingError(f"{target}: is there already; name another file")
    if (target.parent / PROVENANCE_NAME).exists():
        raise PackagingError(f"{target.parent}: holds the {PROVENANCE_NAME} of another archive; name another folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    old = verify(source).manifest
    check_calibration(calibration, gguf_sha256=identity(old.gguf.files), serving=old.serving, where=str(source))
    facts = FileFacts(
        file=CALIBRATION_NAME,
        bytes=calibration.stat().st_size,
        sha256=file_sha256(calibration, label="sha256 of the calibration"),
    )
    new = replace(old, calibration=facts)
    with _unpacked(source, new, target.parent) as folder:
        files = {each.file: folder / each.file for each in listed_files(new)}
        return write_archive(new, {**files, CALIBRATION_NAME: calibration}, target), new


@contextmanager
def _unpacked(source: Path, manifest: Manifest, beside: Path) -> Iterator[Path]:
    """A folder that holds what the manifest lists besides the calibration."""
    if source.is_dir():
        yield source
        return
    wanted = {each.file for each in listed_files(manifest)} - {CALIBRATION_NAME}
    require_free_space(beside, 2 * source.stat().st_size, "the unpacked model and the new archive")
    work = Path(tempfile.mkdtemp(prefix=".recalibrating-", dir=beside))
    try:
        for member in each_member(source, wanted):
            with (work / member.name).open("wb") as out:
                while block := member.stream.read(CHUNK):
                    out.write(block)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
