"""Reads an importance matrix in both formats that llama.cpp writes: a GGUF of sums and counts, and the older `.dat`.

Pure: bytes in, numbers out, each length bounded by what is left of the file before anything is allocated for it. What
comes out is what llama.cpp's own tools hand to the quantizer: for each tensor the mean of its squared inputs, float32.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .errors import PackagingError
from .gguf_stream import GgufStream, shown
from .gguf_tables import LFS_POINTER, MAGIC, Tensor, read_tables

_MOST_ENTRIES = 1 << 16
_LONGEST_NAME = 1024
_SUMS, _COUNTS = ".in_sum2", ".counts"


@dataclass(frozen=True, kw_only=True)
class ImportanceMatrix:
    """means: by the name of the model's tensor. format: "gguf" or "dat"."""

    format: str
    means: dict[str, array[float]]


def read_imatrix(path: Path) -> ImportanceMatrix:
    """Raises PackagingError for anything else."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
            stream.seek(0)
            size = path.stat().st_size
            if start == LFS_POINTER[:4]:
                raise PackagingError(f"{path}: this is a Git LFS pointer; fetch the file that it names")
            means = _from_gguf(stream, size, path) if start == MAGIC else _from_dat(stream, size, path)
    except OSError as error:
        raise PackagingError(f"{path}: {error.strerror}; an importance matrix is needed") from error
    if not means:
        raise PackagingError(f"{path}: holds no importance matrix")
    for name, values in means.items():
        if not all(map(math.isfinite, values)):
            raise PackagingError(f"{path}: {name!r} holds a value that is no finite number")
    return ImportanceMatrix(format="gguf" if start == MAGIC else "dat", means=means)


def _from_gguf(stream: BinaryIO, size: int, path: Path) -> dict[str, array[float]]:
    tables = read_tables(stream, size, where=str(path))
    kind = tables.metadata.get("general.type")
    if kind != "imatrix":
        raise PackagingError(f"{path}: general.type: {shown(kind)}; an importance matrix has 'imatrix'")
    by_name = {tensor.name: tensor for tensor in tables.tensors}
    means: dict[str, array[float]] = {}
    for name, sums in by_name.items():
        if not name.endswith(_SUMS):
            continue
        counts = by_name.get(name.removesuffix(_SUMS) + _COUNTS)
        if counts is None or (sums.type, counts.type) != ("F32", "F32") or sums.values % counts.values:
            raise PackagingError(f"{path}: {name!r} has no {_COUNTS} of F32 that fits it")
        means[name.removesuffix(_SUMS)] = _means(
            _floats(stream, tables.data_start, sums), _floats(stream, tables.data_start, counts)
        )
    return means


def _floats(stream: BinaryIO, data_start: int, tensor: Tensor) -> array[float]:
    stream.seek(data_start + tensor.offset)
    return _little_endian(stream.read(tensor.bytes))


def _means(sums: array[float], counts: array[float]) -> array[float]:
    """Each count is of one row of sums; what was never seen counts as 1, as llama.cpp has it."""
    width = len(sums) // len(counts)
    means = array("f")
    for row, count in enumerate(counts):
        whole = math.floor(count + 0.5) if math.isfinite(count) else 0
        rows = sums[row * width : (row + 1) * width]
        means.extend(value / whole for value in rows) if whole > 0 else means.extend([1.0] * width)
    return means


def _from_dat(stream: BinaryIO, size: int, path: Path) -> dict[str, array[float]]:
    source = GgufStream(stream, size, where=str(path))
    entries = _count(source, "the number of matrices", _MOST_ENTRIES)
    means: dict[str, array[float]] = {}
    for _ in range(entries):
        name_bytes = source.take(_count(source, "the length of a name", _LONGEST_NAME), "a name")
        try:
            name = name_bytes.decode("utf-8")
        except UnicodeDecodeError as error:
            raise source.wrong("a name is not UTF-8: this is no importance matrix") from error
        (calls,) = struct.unpack("<i", source.take(4, "a count"))
        values = _count(source, f"the number of values of {name!r}", size)
        sums = _little_endian(source.take(4 * values, f"the values of {name!r}"))
        means[name] = array("f", (value / calls for value in sums)) if calls > 0 else sums
    return means  # the number of chunks and the data set's name may follow


def _count(source: GgufStream, what: str, most: int) -> int:
    count = int(struct.unpack("<i", source.take(4, what))[0])
    if not 1 <= count <= most:
        raise source.wrong(f"{what} is {count}; 1 to {most} allowed: this is no importance matrix")
    return count


def _little_endian(data: bytes) -> array[float]:
    values = array("f")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values
