"""Writes importance matrices of a GGUF in both formats, with the same means."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np

_CALLS = 4


def sums_of(model: Path) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]]:
    """For each matrix of the model one sum of squares a column."""
    random = np.random.default_rng(7)
    matrices = {each.name: int(each.shape[0]) for each in gguf.GGUFReader(model).tensors if len(each.shape) == 2}
    return {name: random.uniform(0.1, 50.0, width).astype(np.float32) for name, width in matrices.items()}


def write_dat(model: Path, target: Path) -> Path:
    sums = sums_of(model)
    data = struct.pack("<i", len(sums))
    for name, values in sums.items():
        data += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", _CALLS, len(values))
        data += values.tobytes()
    data += struct.pack("<ii", 3, 4) + b"text"  # how many chunks of which data set: optional, and not needed
    target.write_bytes(data)
    return target


def write_gguf(model: Path, target: Path) -> Path:
    writer = gguf.GGUFWriter(target, "imatrix")
    writer.kv_data[0].pop("general.architecture")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", ["text"])
    writer.add_uint32("imatrix.chunk_count", 3)
    writer.add_uint32("imatrix.chunk_size", 512)
    for name, values in sums_of(model).items():
        writer.add_tensor(f"{name}.in_sum2", values.reshape(1, -1))
        writer.add_tensor(f"{name}.counts", np.full((1, 1), _CALLS, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
