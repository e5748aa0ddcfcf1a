"""What a GGUF's tables mean: the facts that the manifest needs, of a whole model or of one split into parts.

Pure, and knows no llama.cpp. How the tables are read and bounded is gguf_tables.py's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import PackagingError
from .ggml_types import FILE_TYPES
from .gguf_stream import Readable, shown
from .gguf_tables import Tables, Tensor, read_tables
from .serving import MAX_CONTEXT
from .weight_names import PROJECTOR_REASON


@dataclass(frozen=True, kw_only=True)
class Split:
    """number: from 1 to count. tensors: of all parts together."""

    number: int
    count: int
    tensors: int


@dataclass(frozen=True, kw_only=True)
class GgufHeader:
    """A whole model, or the first part of one. file_type: the file's own word, else its commonest tensor type.

    parameters: values in the tensors of this file.
    """

    version: int
    architecture: str
    file_type: str
    context_length: int
    has_chat_template: bool
    n_tensors: int
    parameters: int
    split: Split | None = None


@dataclass(frozen=True, kw_only=True)
class GgufPart:
    """A part after the first: it holds tensors, and of the metadata only its place."""

    n_tensors: int
    parameters: int
    split: Split


def read_model_files(paths: Sequence[Path], *, names: Sequence[str]) -> GgufHeader:
    """The facts of a model that these files make, in order; counts are those of all of them together."""
    parts: list[GgufHeader | GgufPart] = []
    for path, name in zip(paths, names, strict=True):
        with path.open("rb") as stream:
            parts.append(read_part(stream, path.stat().st_size, where=name))
    return whole(parts, names=names)


def read_header_file(path: Path, *, where: str) -> GgufHeader:
    return read_model_files([path], names=[where])


def read_header(stream: Readable, size: int, *, where: str) -> GgufHeader:
    """The facts of a model in one file. Raises PackagingError for anything else."""
    return whole([read_part(stream, size, where=where)], names=[where])


def read_part(stream: Readable, size: int, *, where: str) -> GgufHeader | GgufPart:
    """Reads `stream` from its start up to the first tensor's bytes. size: of the whole file."""
    tables = read_tables(stream, size, where=where)
    split = _split(tables, where)
    parameters = sum(tensor.values for tensor in tables.tensors)
    if split is not None and split.number > 1:
        return GgufPart(n_tensors=len(tables.tensors), parameters=parameters, split=split)
    return _facts(tables, split, parameters, where)


def whole(parts: Sequence[GgufHeader | GgufPart], *, names: Sequence[str]) -> GgufHeader:
    """Raises PackagingError unless the parts are all of one model's, in order."""
    first = parts[0]
    if isinstance(first, GgufPart) or (first.split is None and len(parts) > 1):
        raise PackagingError(f"{names[0]}: is no first part of {len(parts)}")
    count = 1 if first.split is None else first.split.count
    if len(parts) != count:
        raise PackagingError(f"{names[0]}: split.count: one of {count} parts; {len(parts)} given, all are needed")
    n_tensors = sum(part.n_tensors for part in parts)
    for number, (part, name) in enumerate(zip(parts, names, strict=True), 1):
        seen = part.split
        if seen is not None and (seen.number, seen.count) != (number, count):
            raise PackagingError(f"{name}: part {seen.number} of {seen.count}; part {number} of {count} expected")
        if seen is not None and seen.tensors != n_tensors:
            raise PackagingError(f"{name}: split.tensors.count: {seen.tensors}; the parts hold {n_tensors}")
        if seen is None and count > 1:
            raise PackagingError(f"{name}: is no part of a split model; part {number} of {count} expected")
    return replace(first, n_tensors=n_tensors, parameters=sum(part.parameters for part in parts))


def _split(tables: Tables, where: str) -> Split | None:
    count = tables.metadata.get("split.count", 0)
    if not isinstance(count, int) or count < 2:
        return None
    number, tensors = tables.metadata.get("split.no"), tables.metadata.get("split.tensors.count")
    if not isinstance(number, int) or not 0 <= number < count:
        raise PackagingError(f"{where}: split.no: {number!r}; 0 to {count - 1} expected, split.count being {count}")
    if not isinstance(tensors, int):
        raise PackagingError(f"{where}: split.tensors.count: {tensors!r}; a count expected")
    return Split(number=number + 1, count=count, tensors=tensors)


def _facts(tables: Tables, split: Split | None, parameters: int, where: str) -> GgufHeader:
    metadata = tables.metadata
    architecture = metadata.get("general.architecture")
    kind = metadata.get("general.type", "model")
    if kind == "mmproj" or architecture == "clip":
        raise PackagingError(
            f"{where}: general.type: {shown(kind)}, architecture {shown(architecture)}: {PROJECTOR_REASON}"
        )
    if kind != "model":
        raise PackagingError(f"{where}: general.type: {shown(kind)}; only a whole model can be served")
    if not tables.tensors and split is None:
        raise PackagingError(f"{where}: holds no tensors; a model has some")
    if not isinstance(architecture, str) or not architecture or not architecture.isprintable():
        raise PackagingError(f"{where}: general.architecture: {shown(architecture)}; a name such as llama expected")
    context_length = metadata.get(f"{architecture}.context_length")
    if not isinstance(context_length, int) or not 1 <= context_length <= MAX_CONTEXT:
        raise PackagingError(
            f"{where}: {architecture[:80]}.context_length: {shown(context_length)}; 1 to {MAX_CONTEXT} tokens expected"
        )
    return GgufHeader(
        version=tables.version,
        architecture=architecture,
        file_type=_file_type(metadata.get("general.file_type"), tables.tensors, where),
        context_length=context_length,
        has_chat_template=isinstance(metadata.get("tokenizer.chat_template"), str),
        n_tensors=len(tables.tensors),
        parameters=parameters,
        split=split,
    )


def _file_type(number: object, tensors: Sequence[Tensor], where: str) -> str:
    if number is None:
        values: Counter[str] = Counter()
        for tensor in tensors:
            values[tensor.type] += tensor.values
        return max(values, key=lambda name: (values[name], name))
    if not isinstance(number, int) or number not in FILE_TYPES:
        known = f"0 to {max(FILE_TYPES)}, as llama.cpp of llama-cpp-python 0.3.36 numbers them"
        raise PackagingError(f"{where}: general.file_type: {number!r}; {known}")
    return FILE_TYPES[number]
