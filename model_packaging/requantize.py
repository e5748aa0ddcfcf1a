"""Quantizes one GGUF by hand: `python -m model_packaging quantize`. The file appears whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import PackagingError, unusable_folder
from .folder_lock import folder_lock
from .ggml_types import NEEDS_IMATRIX
from .gguf_header import GgufHeader, read_header_file, read_model_files
from .imatrix import read_imatrix
from .integrity import file_sha256
from .manifest import FileFacts, identity
from .quantize import quantize, quantizer_version
from .weight_names import all_parts, part_name

_FROM = ("F32", "F16", "BF16", "Q8_0")


@dataclass(frozen=True, kw_only=True)
class Requantized:
    """What came out, and what of a manifest's `quantization` holds for it. imatrix_…: None without one."""

    bytes: int
    sha256: str
    from_sha256: str
    from_file_type: str
    to: str
    llama_cpp: str
    imatrix_sha256: str | None
    imatrix_format: str | None


def requantize(source: Path, *, to: str, imatrix: Path | None, target: Path) -> Requantized:
    """Raises PackagingError that names the file and what is wrong with it; then nothing is left.

    Of two that write into one folder the second waits, and finds what the first made.
    """
    made_by = quantizer_version()
    files = _files(source)
    header = read_model_files(files, names=[str(each) for each in files])
    _check(header, source, to, imatrix, target)
    with folder_lock(target.parent, wait=True, what="quantizing"):
        _require_absent(target)
        return _requantize(files, header, to=to, imatrix=imatrix, target=target, made_by=made_by)


def _requantize(
    files: list[Path], header: GgufHeader, *, to: str, imatrix: Path | None, target: Path, made_by: str
) -> Requantized:
    matrix = None if imatrix is None else read_imatrix(imatrix)
    facts = [
        FileFacts(file=each.name, bytes=each.stat().st_size, sha256=file_sha256(each, label=f"sha256 of {each.name}"))
        for each in files
    ]
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.touch()
        quantize(files[0], header, partial, to=to, imatrix=imatrix)
        found = read_header_file(partial, where=str(target)).file_type
        if found != to:
            raise PackagingError(f"{target}: {to} asked for, {found} came out")
        made = Requantized(
            bytes=partial.stat().st_size,
            sha256=file_sha256(partial, label="sha256 of the result"),
            from_sha256=identity(facts),
            from_file_type=header.file_type,
            to=to,
            llama_cpp=made_by,
            imatrix_sha256=None if imatrix is None else file_sha256(imatrix, label="sha256 of the importance matrix"),
            imatrix_format=None if matrix is None else matrix.format,
        )
        os.replace(partial, target)
    except OSError as error:
        raise unusable_folder(target.parent, error) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return made


def _files(source: Path) -> list[Path]:
    """The source, and the further parts beside it where its name says that it is a first one."""
    if not source.is_file():
        raise PackagingError(f"{source}: no such file; a GGUF is needed")
    part = part_name(source.name)
    if part is None:
        return [source]
    if part.number != 1:
        raise PackagingError(f"{source}: part {part.number} of {part.count}; give the first one")
    files = [source.with_name(each) for each in all_parts(part)]
    for each in files:
        if not each.is_file():
            raise PackagingError(f"{each}: no such file; all {part.count} parts are needed beside each other")
    return files


def _check(header: GgufHeader, source: Path, to: str, imatrix: Path | None, target: Path) -> None:
    if header.file_type not in _FROM:
        raise PackagingError(
            f"{source}: file type {header.file_type}; {', '.join(_FROM)} allowed: what is rounded twice is worse than "
            "what is rounded once. A declaration's [quantize] may do it, where the source has nothing better"
        )
    if imatrix is None and to in NEEDS_IMATRIX:
        raise PackagingError(f"--to {to}: llama.cpp makes it only with an importance matrix; give --imatrix FILE")
    if target.suffix != ".gguf":
        raise PackagingError(f"{target}: a name that ends in .gguf is needed")
    _require_absent(target)
    if not target.parent.is_dir():
        raise PackagingError(f"{target.parent}: no such folder")


def _require_absent(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise PackagingError(f"{target}: is there already; remove it or choose another name")
