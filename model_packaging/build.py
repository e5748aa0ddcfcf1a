"""From a declaration to an archive: the order of the steps, and nothing left behind where one of them fails."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .archive import ARCHIVE_NAME, Archive, write_archive
from .calibration import check_calibration
from .declaration import Declaration, Quantize, read_declaration
from .disk_space import Need, require_room
from .download import acquire, missing_bytes
from .errors import PackagingError, unusable_folder
from .folder_lock import folder_lock
from .gguf_header import GgufHeader, read_header_file, read_model_files
from .imatrix import read_imatrix
from .integrity import file_sha256
from .manifest import FileFacts, GgufFacts, Imatrix, Manifest, Quantization, TokenizerFacts, identity
from .pinned import PinnedFile
from .progress import say
from .provenance import PROVENANCE_NAME, write_provenance
from .quantize import quantize, quantizer_version
from .sources import source_file
from .weight_names import all_parts, part_name

_WORK = ".building"
_CALIBRATION = "calibration.json"
_LARGE_TYPES = ("F32", "F16", "BF16", "Q8_0")


@dataclass(frozen=True, kw_only=True)
class Built:
    archive: Archive
    manifest: Manifest


@dataclass(frozen=True, kw_only=True)
class _Weights:
    """paths: by the names in the archive, which are those of `files`."""

    files: tuple[FileFacts, ...]
    paths: dict[str, Path]
    header: GgufHeader
    quantization: Quantization | None


def build(declaration_path: Path, *, output: Path, cache_dir: Path) -> Built:
    """Writes `output`/model.tar.gz and provenance.json. Those of an earlier build are removed first: after a failure
    there are none."""
    declaration = read_declaration(declaration_path)
    if declaration.quantize is not None:
        quantizer_version()  # says what is missing before a long download, not after it
    if declaration.licence_assumed:
        say(f"licence: {declaration.licence} is assumed: nobody has read it at the source")
    with folder_lock(output, wait=False, what="building"):
        target = output / ARCHIVE_NAME
        work = _emptied(output, target)
        try:
            require_room(_needs(declaration, output=output, cache_dir=cache_dir))
            weights = _prepare(declaration, cache_dir, work)
            manifest, others = _manifest(declaration, weights, cache_dir)
            archive = write_archive(manifest, {**others, **weights.paths}, target)
            write_provenance(output / PROVENANCE_NAME, declaration_path, archive.sha256)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return Built(archive=archive, manifest=manifest)


def _emptied(output: Path, target: Path) -> Path:
    """The folder to work in, made anew, with no archive beside it."""
    work = output / _WORK
    try:
        target.unlink(missing_ok=True)
        (output / PROVENANCE_NAME).unlink(missing_ok=True)
        shutil.rmtree(work, ignore_errors=True)  # what a killed build left
        work.mkdir()
    except OSError as error:
        raise unusable_folder(Path(error.filename or output), error) from error
    return work


def _needs(declaration: Declaration, *, output: Path, cache_dir: Path) -> list[Need]:
    """What the whole build will write. How large a requantized model gets is known only once its source is here: taken
    is as much as the source has, twice that for a type of 8 bits and more."""
    tokenizer = [each.pinned for each in declaration.tokenizer]
    wanted, result = [*declaration.weights, *tokenizer], declaration.bytes
    needs = []
    if declaration.quantize is not None:
        wanted += [] if declaration.quantize.imatrix is None else [declaration.quantize.imatrix]
        result *= 2 if declaration.quantize.to in _LARGE_TYPES else 1
        needs.append(Need(folder=output, bytes=result, what="the requantized model"))
    missing = sum(missing_bytes(each, cache_dir=cache_dir) for each in wanted)
    archive = result + sum(each.bytes for each in tokenizer)
    return [
        Need(folder=output, bytes=archive, what="the archive"),
        *needs,
        Need(folder=cache_dir, bytes=missing, what="the download"),
    ]


def _prepare(declaration: Declaration, cache_dir: Path, work: Path) -> _Weights:
    paths = [acquire(each, declaration=declaration.path, cache_dir=cache_dir) for each in declaration.weights]
    source_names = [Path(source_file(each.source)).name for each in declaration.weights]
    header = read_model_files(paths, names=source_names)
    if declaration.quantize is not None:
        return _requantized(declaration, declaration.quantize, paths, header, cache_dir, work)
    part = part_name(declaration.file)
    names = [declaration.file] if part is None else all_parts(part)
    return _Weights(
        files=_facts(names, declaration.weights), paths=dict(zip(names, paths, strict=True)), header=header,
        quantization=None,
    )  # fmt: skip


def _facts(names: Sequence[str], files: Sequence[PinnedFile]) -> tuple[FileFacts, ...]:
    return tuple(
        FileFacts(file=name, bytes=each.bytes, sha256=each.sha256) for name, each in zip(names, files, strict=True)
    )


def _requantized(
    declaration: Declaration, wanted: Quantize, paths: list[Path], header: GgufHeader, cache_dir: Path, work: Path
) -> _Weights:
    where, path = declaration.path, work / declaration.file
    source_names = [Path(source_file(each.source)).name for each in declaration.weights]
    matrix, record = None, None
    if wanted.imatrix is not None:
        matrix = acquire(wanted.imatrix, declaration=where, cache_dir=cache_dir)
        kind = read_imatrix(matrix).format
        record = Imatrix(sha256=wanted.imatrix.sha256, format=kind, source=wanted.imatrix.source)
    quantize(_beside_each_other(paths, source_names, work), header, path, to=wanted.to, imatrix=matrix)
    digest = file_sha256(path, label="sha256 of the result")
    if wanted.sha256 is not None and digest != wanted.sha256:
        raise PackagingError(f"{where}: quantize.sha256: {digest} came out; {wanted.sha256} declared")
    if wanted.sha256 is None:
        say(f"quantize.sha256 is left out, so that no endpoint can be bound to the result. What came out: {digest}")
    result = read_header_file(path, where=declaration.file)
    if result.file_type != wanted.to:
        raise PackagingError(f"{where}: quantize.to: {wanted.to} asked for, {result.file_type} came out")
    return _Weights(
        files=(FileFacts(file=declaration.file, bytes=path.stat().st_size, sha256=digest),),
        paths={declaration.file: path},
        header=result,
        quantization=Quantization(
            from_sha256=identity(_facts(source_names, declaration.weights)),
            from_file_type=header.file_type,
            to=wanted.to,
            llama_cpp=quantizer_version(),
            imatrix=record,
        ),
    )


def _beside_each_other(paths: list[Path], names: list[str], work: Path) -> Path:
    """llama.cpp finds the further parts by their names beside the first. A whole model is taken where it lies."""
    if len(paths) == 1:
        return paths[0]
    folder = work / "source"
    folder.mkdir()
    for path, name in zip(paths, names, strict=True):
        (folder / name).symlink_to(path)
    return folder / names[0]


def _manifest(declaration: Declaration, weights: _Weights, cache_dir: Path) -> tuple[Manifest, dict[str, Path]]:
    """The manifest, and where the files lie that it lists beside the weights."""
    others: dict[str, Path] = {}
    calibration = None
    if declaration.calibration is not None:
        path = declaration.path.parent / declaration.calibration
        sha256, where = identity(weights.files), str(declaration.path)
        check_calibration(path, gguf_sha256=sha256, serving=declaration.serving, where=where)
        digest = file_sha256(path, label="sha256 of the calibration")
        calibration = FileFacts(file=_CALIBRATION, bytes=path.stat().st_size, sha256=digest)
        others[_CALIBRATION] = path
    tokenizer = []
    for each in declaration.tokenizer:
        others[each.file] = acquire(each.pinned, declaration=declaration.path, cache_dir=cache_dir)
        pinned = each.pinned
        tokenizer.append(TokenizerFacts(file=each.file, bytes=pinned.bytes, sha256=pinned.sha256, source=pinned.source))
    first, *parts = weights.files
    gguf = GgufFacts(
        file=first.file,
        bytes=first.bytes,
        sha256=first.sha256,
        architecture=weights.header.architecture,
        file_type=weights.header.file_type,
        context_length=weights.header.context_length,
        parts=tuple(parts),
    )
    manifest = Manifest(
        name=declaration.name,
        gguf=gguf,
        source=declaration.source,
        quantization=weights.quantization,
        licence=declaration.licence,
        licence_assumed=declaration.licence_assumed,
        serving=declaration.serving,
        calibration=calibration,
        tokenizer=tuple(tokenizer),
    )
    return manifest, others
