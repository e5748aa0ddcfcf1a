"""Reads the tables at a GGUF's start: metadata and tensors, and checks that every tensor lies inside the file.

Pure: bytes in, tables out. Each count and length is bounded before anything is allocated for it, since the file may
come from anywhere. Weights are never read. What the metadata mean is left to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from .errors import PackagingError
from .ggml_types import TENSOR_TYPES
from .gguf_stream import GgufStream, Readable, shown

MAGIC = b"GGUF"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
POINTER_REMEDY = "fetch the file that it names"
_VERSIONS = (2, 3)
_MAX_METADATA = 1 << 16
_MAX_TENSORS = 1 << 16  # some thousands in the largest models, and each one's facts are kept
_MAX_KEY_BYTES = (1 << 16) - 1  # the format's own limit
_MAX_NAME_BYTES = 1024
_TEXTS = frozenset({"general.architecture", "general.type", "tokenizer.chat_template"})  # others are passed over
_MAX_DIMENSIONS = 4
_MAX_ALIGNMENT = 1 << 20
MAX_VALUES = 1 << 43  # a tensor of 8 Ti values: far more than any, and no product of sizes overflows
_DEFAULT_ALIGNMENT = 32

Value = str | int | float | None


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """shape: the dimension that is contiguous in memory first. offset: from `Tables.data_start`, in bytes."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    bytes: int

    @property
    def values(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """metadata: the value of an array is None, and of a text that nobody here asks for."""

    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    data_start: int


def read_tables(stream: Readable, size: int, *, where: str) -> Tables:
    """Reads `stream` from its start up to the first tensor's bytes. size: of the whole file.

    Raises PackagingError for anything but one whole, little-endian GGUF of version 2 or 3.
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
    tensors = tuple(_read_tensor(source) for _ in range(n_tensors))
    data_start = _padded(source.position, alignment)
    _check_layout(tensors, alignment, data_start, size, where)
    return Tables(version=version, metadata=metadata, tensors=tensors, data_start=data_start)


def check_magic(start: bytes, where: str, *, pointer_remedy: str = POINTER_REMEDY) -> None:
    """start: the first four bytes of a file, or all of a shorter one."""
    if start[:4] == LFS_POINTER[:4]:
        raise PackagingError(
            f"{where}: this is a Git LFS pointer, a short text in place of the weights; {pointer_remedy}"
        )
    if start[:4] != MAGIC:
        raise PackagingError(f"{where}: begins with {start[:4]!r}; a GGUF begins with {MAGIC!r}")


def _count(source: GgufStream, what: str, most: int) -> int:
    count = source.u64(f"the count of {what}")
    if count > most:
        raise source.wrong(f"{count} {what}; {most} allowed")
    return count


def _read_metadata(source: GgufStream, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for _ in range(count):
        key = source.text("a metadata key", most=_MAX_KEY_BYTES)
        if key in metadata:
            raise source.wrong(f"the metadata key {shown(key)} stands there twice")
        metadata[key] = source.value(f"the metadata value of {shown(key)}", keep_text=key in _TEXTS)
    return metadata


def _read_tensor(source: GgufStream) -> Tensor:
    name = source.text("a tensor's name", most=_MAX_NAME_BYTES)
    n_dimensions = source.u32(f"the number of dimensions of {shown(name)}")
    if not 1 <= n_dimensions <= _MAX_DIMENSIONS:
        raise source.wrong(f"tensor {shown(name)} has {n_dimensions} dimensions; 1 to {_MAX_DIMENSIONS} allowed")
    shape = tuple(source.u64(f"a dimension of {shown(name)}") for _ in range(n_dimensions))
    number = source.u32(f"the type of {shown(name)}")
    if number not in TENSOR_TYPES:
        raise source.wrong(
            f"tensor {shown(name)} has type {number}, which llama.cpp of llama-cpp-python 0.3.36 does not know"
        )
    type_name, block, block_bytes = TENSOR_TYPES[number]
    if shape[0] % block:
        raise source.wrong(
            f"tensor {shown(name)} has rows of {shape[0]} values; {type_name} needs a multiple of {block}"
        )
    values = prod(shape)
    if not 0 < values <= MAX_VALUES:
        raise source.wrong(f"tensor {shown(name)} has {' x '.join(map(str, shape))} values; 1 to {MAX_VALUES} allowed")
    offset = source.u64(f"the offset of {shown(name)}")
    return Tensor(name=name, type=type_name, shape=shape, offset=offset, bytes=values // block * block_bytes)


def _check_layout(tensors: tuple[Tensor, ...], alignment: int, data_start: int, size: int, where: str) -> None:
    """Tensors stand one after the other, each padded to the alignment, as llama.cpp demands, inside the file."""
    expected = 0
    for tensor in tensors:
        if tensor.offset != expected:
            raise PackagingError(
                f"{where}: tensor {shown(tensor.name)} is at offset {tensor.offset}; {expected} expected"
            )
        end = data_start + tensor.offset + tensor.bytes
        if end > size:
            raise PackagingError(
                f"{where}: truncated: tensor {shown(tensor.name)} ends at byte {end}, the file at {size}"
            )
        expected = _padded(expected + tensor.bytes, alignment)


def _alignment(metadata: dict[str, Value], where: str) -> int:
    value = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(value, int) or not 1 <= value <= _MAX_ALIGNMENT or value & (value - 1):
        raise PackagingError(f"{where}: general.alignment: {value!r}; a power of two up to {_MAX_ALIGNMENT} allowed")
    return value


def _padded(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
