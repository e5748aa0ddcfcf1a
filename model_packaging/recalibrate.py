"""Puts a calibration into a model that is packed already: another archive, with the same weights and a new manifest.

The same model and the same calibration give the same bytes, and those that a build with that calibration gives.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .archive import Archive, write_archive
from .calibration import check_calibration
from .errors import PackagingError
from .folder_lock import folder_lock
from .integrity import file_sha256
from .manifest import FileFacts, Manifest, identity, listed_files
from .provenance import PROVENANCE_NAME
from .unpacked import unpacked

CALIBRATION_NAME = "calibration.json"


def recalibrate(source: Path, calibration: Path, target: Path) -> tuple[Archive, Manifest]:
    """source: model.tar.gz, or a folder it was unpacked into; a calibration that it has is replaced.

    Writes `target` whole or not at all. Raises PackagingError where the source is no model, the calibration is not for
    it, or the target is there already.
    """
    require_new(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        folder_lock(target.parent, wait=True, what="writing an archive"),
        unpacked(source, below=target.parent) as (folder, old),
    ):
        require_new(target)  # again: another process may have written it meanwhile
        sha256 = identity(old.gguf.files)
        check_calibration(calibration, gguf_sha256=sha256, serving=old.serving, where=str(source))
        facts = FileFacts(
            file=CALIBRATION_NAME,
            bytes=calibration.stat().st_size,
            sha256=file_sha256(calibration, label="sha256 of the calibration"),
        )
        new = replace(old, calibration=facts)
        files = {each.file: folder / each.file for each in listed_files(new)}
        return write_archive(new, {**files, CALIBRATION_NAME: calibration}, target), new


def require_new(target: Path) -> None:
    """Raises PackagingError where an archive cannot be written to without taking another one's place or facts."""
    if target.exists():
        raise PackagingError(f"{target}: is there already; name another file")
    if (target.parent / PROVENANCE_NAME).exists():
        raise PackagingError(f"{target.parent}: holds the {PROVENANCE_NAME} of another archive; name another folder")
