"""Reads and checks the header of a GGUF: the facts the manifest needs, and that every tensor lies inside the file.

Pure: bytes in, facts out. Each count and length is bounded before anything is allocated for it, since the file may come
from anywhere. Weights are never read, nor does this know llama.cpp.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path

from .errors import PackagingError
from .ggml_types import FILE_TYPES, TENSOR_TYPES
from .gguf_stream import GgufStream, Readable

MAGIC = b"GGUF"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
_VERSIONS = (2, 3)
_MAX_METADATA = 1 << 16
_MAX_TENSORS = 1 << 20
_MAX_DIMENSIONS = 4
_MAX_ALIGNMENT = 1 << 20
_DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, kw_only=True)
class GgufHeader:
    """file_type: the file's own word, else its commonest tensor type. parameters: values in all tensors."""

    version: int
    architecture: str
    file_type: str
    context_length: int
    has_chat_template: bool
    n_tensors: int
    parameters: int


@dataclass(frozen=True, kw_only=True)
class _Tensor:
    name: str
    type: str
    values: int
    offset: int
    bytes: int


def read_header_file(path: Path, *, where: str) -> GgufHeader:
    with path.open("rb") as stream:
        return read_header(stream, path.stat().st_size, where=where)


def read_header(stream: Readable, size: int, *, where: str) -> GgufHeader:
    """Reads `stream` from its start up to the first tensor's bytes. size: of the whole file.

    Raises PackagingError for anything but one whole, little-endian GGUF model of version 2 or 3.
    """
    source = GgufStream(stream, size, where=where)
    check_magic(source.take(min(size, 4), "the magic"), where)
    version = source.u32("the version")
    if version not in _VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        seen = f"big-endian version {swapped}" if swapped in _VERSIONS else f"version {version}"
        raise source.wrong(f"{seen}; little-endian GGUF of version 2 or 3 is read")
    n_tensors = _count(source, "tensors", _MAX_TENSORS)
    n_metadata = _count(source, "metadata entries", _MAX_METADATA)
    metadata = _read_metadata(source, n_metadata)
    alignment = _alignment(metadata, where)
    tensors = [_read_tensor(source) for _ in range(n_tensors)]
    data_start = _padded(source.position, alignment)
    _check_layout(tensors, alignment, data_start, size, where)
    return _facts(metadata, tensors, version, where)


def check_magic(start: bytes, where: str) -> None:
    """start: the first four bytes of a file, or all of a shorter one."""
    if start[:4] == LFS_POINTER[:4]:
        raise PackagingError(
            f"{where}: this is a Git LFS pointer, a short text in place of the weights; fetch the file that it names"
        )
    if start[:4] != MAGIC:
        raise PackagingError(f"{where}: begins with {start[:4]!r}; a GGUF begins with {MAGIC!r}")


def _count(source: GgufStream, what: str, most: int) -> int:
    count = source.u64(f"the count of {what}")
    if count > most:
        raise source.wrong(f"{count} {what}; {most} allowed")
    return count


def _read_metadata(source: GgufStream, count: int) -> dict[str, str | int | float | None]:
    metadata: dict[str, str | int | float | None] = {}
    for _ in range(count):
        key = source.text("a metadata key")
        if key in metadata:
            raise source.wrong(f"the metadata key {key!r} stands there twice")
        metadata[key] = source.value(f"the metadata value of {key!r}")
    return metadata


def _read_tensor(source: GgufStream) -> _Tensor:
    name = source.text("a tensor's name")
    n_dimensions = source.u32(f"the number of dimensions of {name!r}")
    if not 1 <= n_dimensions <= _MAX_DIMENSIONS:
        raise source.wrong(f"tensor {name!r} has {n_dimensions} dimensions; 1 to {_MAX_DIMENSIONS} allowed")
    shape = [source.u64(f"a dimension of {name!r}") for _ in range(n_dimensions)]
    number = source.u32(f"the type of {name!r}")
    if number not in TENSOR_TYPES:
        raise source.wrong(
            f"tensor {name!r} has type {number}, which llama.cpp of llama-cpp-python 0.3.36 does not know"
        )
    type_name, block, block_bytes = TENSOR_TYPES[number]
    if shape[0] % block:
        raise source.wrong(f"tensor {name!r} has rows of {shape[0]} values; {type_name} needs a multiple of {block}")
    values = prod(shape)
    offset = source.u64(f"the offset of {name!r}")
    return _Tensor(name=name, type=type_name, values=values, offset=offset, bytes=values // block * block_bytes)


def _check_layout(tensors: list[_Tensor], alignment: int, data_start: int, size: int, where: str) -> None:
    """Tensors stand one after the other, each padded to the alignment, as llama.cpp demands, inside the file."""
    if not tensors:
        raise PackagingError(f"{where}: holds no tensors; a model has some")
    expected = 0
    for tensor in tensors:
        if tensor.offset != expected:
            raise PackagingError(f"{where}: tensor {tensor.name!r} is at offset {tensor.offset}; {expected} expected")
        end = data_start + tensor.offset + tensor.bytes
        if end > size:
            raise PackagingError(f"{where}: truncated: tensor {tensor.name!r} ends at byte {end}, the file at {size}")
        expected = _padded(expected + tensor.bytes, alignment)


def _alignment(metadata: dict[str, str | int | float | None], where: str) -> int:
    value = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(value, int) or not 1 <= value <= _MAX_ALIGNMENT or value & (value - 1):
        raise PackagingError(f"{where}: general.alignment: {value!r}; a power of two up to {_MAX_ALIGNMENT} allowed")
    return value


def _padded(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _facts(
    metadata: dict[str, str | int | float | None], tensors: list[_Tensor], version: int, where: str
) -> GgufHeader:
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise PackagingError(f"{where}: general.architecture: {architecture!r}; a name such as llama expected")
    kind = metadata.get("general.type", "model")
    if kind != "model":
        raise PackagingError(f"{where}: general.type: {kind!r}; only a whole model can be served")
    parts = metadata.get("split.count", 0)
    if isinstance(parts, int) and parts > 1:
        raise PackagingError(f"{where}: split.count: one of {parts} parts; merge them with llama-gguf-split --merge")
    context_length = metadata.get(f"{architecture}.context_length")
    if not isinstance(context_length, int) or context_length < 1:
        raise PackagingError(f"{where}: {architecture}.context_length: {context_length!r}; a positive integer expected")
    return GgufHeader(
        version=version,
        architecture=architecture,
        file_type=_file_type(metadata.get("general.file_type"), tensors, where),
        context_length=context_length,
        has_chat_template=isinstance(metadata.get("tokenizer.chat_template"), str),
        n_tensors=len(tensors),
        parameters=sum(tensor.values for tensor in tensors),
    )


def _file_type(number: object, tensors: list[_Tensor], where: str) -> str:
    if number is None:
        values: Counter[str] = Counter()
        for tensor in tensors:
            values[tensor.type] += tensor.values
        return max(values, key=lambda name: (values[name], name))
    if not isinstance(number, int) or number not in FILE_TYPES:
        known = f"0 to {max(FILE_TYPES)}, as llama.cpp of llama-cpp-python 0.3.36 numbers them"
        raise PackagingError(f"{where}: general.file_type: {number!r}; {known}")
    return FILE_TYPES[number]
