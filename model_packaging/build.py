"""From a declaration to an archive: the order of the steps, and nothing left behind where one of them fails."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .archive import ARCHIVE_NAME, Archive, write_archive
from .calibration import check_calibration
from .declaration import Declaration, Quantize, read_declaration
from .download import acquire
from .errors import PackagingError, unusable_folder
from .folder_lock import folder_lock
from .gguf_header import GgufHeader, read_header_file
from .integrity import file_sha256
from .manifest import CalibrationFacts, GgufFacts, Manifest, Quantization
from .quantize import quantize, quantizer_version

_WORK = ".building"
_CALIBRATION = "calibration.json"


@dataclass(frozen=True, kw_only=True)
class Built:
    archive: Archive
    manifest: Manifest


@dataclass(frozen=True, kw_only=True)
class _Weights:
    path: Path
    bytes: int
    sha256: str
    header: GgufHeader
    quantization: Quantization | None


def build(declaration_path: Path, *, output: Path, cache_dir: Path) -> Built:
    """Writes `output`/model.tar.gz. One of an earlier build there is removed first: after a failure there is none."""
    declaration = read_declaration(declaration_path)
    if declaration.quantize is not None:
        quantizer_version()  # says what is missing before a long download, not after it
    with folder_lock(output, wait=False, what="building"):
        target = output / ARCHIVE_NAME
        work = _emptied(output, target)
        try:
            weights = _prepare(declaration, acquire(declaration, cache_dir=cache_dir), work)
            calibration = _calibration(declaration, weights)
            manifest = _manifest(declaration, weights, calibration)
            archive = write_archive(manifest, weights.path, target, calibration=calibration)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return Built(archive=archive, manifest=manifest)


def _emptied(output: Path, target: Path) -> Path:
    """The folder to work in, made anew, with no archive beside it."""
    work = output / _WORK
    try:
        target.unlink(missing_ok=True)
        shutil.rmtree(work, ignore_errors=True)  # what a killed build left
        work.mkdir()
    except OSError as error:
        raise unusable_folder(Path(error.filename or output), error) from error
    return work


def _prepare(declaration: Declaration, source: Path, work: Path) -> _Weights:
    header = read_header_file(source, where=declaration.file)
    if declaration.quantize is None:
        return _Weights(
            path=source, bytes=declaration.bytes, sha256=declaration.sha256, header=header, quantization=None
        )
    return _requantized(declaration, declaration.quantize, source, header, work)


def _requantized(declaration: Declaration, wanted: Quantize, source: Path, header: GgufHeader, work: Path) -> _Weights:
    path = work / declaration.file
    quantize(source, header, path, to=wanted.to)
    digest = file_sha256(path, label="sha256 of the result")
    if wanted.sha256 is not None and digest != wanted.sha256:
        raise PackagingError(f"{declaration.path}: quantize.sha256: {digest} came out; {wanted.sha256} declared")
    result = read_header_file(path, where=declaration.file)
    if result.file_type != wanted.to:
        raise PackagingError(f"{declaration.path}: quantize.to: {wanted.to} asked for, {result.file_type} came out")
    record = Quantization(
        from_sha256=declaration.sha256,
        from_file_type=header.file_type,
        to=wanted.to,
        llama_cpp=quantizer_version(),
    )
    return _Weights(path=path, bytes=path.stat().st_size, sha256=digest, header=result, quantization=record)


def _calibration(declaration: Declaration, weights: _Weights) -> Path | None:
    if declaration.calibration is None:
        return None
    path = declaration.path.parent / declaration.calibration
    where = str(declaration.path)
    check_calibration(path, gguf_sha256=weights.sha256, serving=declaration.serving, where=where)
    return path


def _manifest(declaration: Declaration, weights: _Weights, calibration: Path | None) -> Manifest:
    return Manifest(
        name=declaration.name,
        gguf=GgufFacts(
            file=declaration.file,
            bytes=weights.bytes,
            sha256=weights.sha256,
            architecture=weights.header.architecture,
            file_type=weights.header.file_type,
            context_length=weights.header.context_length,
        ),
        source=declaration.source,
        quantization=weights.quantization,
        licence=declaration.licence,
        serving=declaration.serving,
        calibration=None
        if calibration is None
        else CalibrationFacts(
            file=_CALIBRATION,
            bytes=calibration.stat().st_size,
            sha256=file_sha256(calibration, label="sha256 of the calibration"),
        ),
    )
