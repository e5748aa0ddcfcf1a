"""Which compression level a model archive should have: `python -m benchmarks.packing MODEL.gguf...`.

For each level zlib packs the weights and unpacks them again; all speeds are ratios to stored blocks, measured in turn
on one core, best of the rounds, so that a busy machine moves both sides.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

_LEVELS = (0, 1, 3, 6, 9)
_CHUNK = 1 << 20


def packed(data: bytes, level: int) -> list[bytes]:
    """The data as a gzip stream, in pieces; level 0 stores."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    pieces = [packer.compress(data[start : start + _CHUNK]) for start in range(0, len(data), _CHUNK)]
    return [*pieces, packer.flush()]


def unpacked(pieces: list[bytes]) -> int:
    """How many bytes come out."""
    reader = zlib.decompressobj(31)
    return sum(len(reader.decompress(piece)) for piece in pieces) + len(reader.flush())


def table(name: str, data: bytes, rounds: int) -> list[str]:
    """One Markdown row a level."""
    packing = {level: float("inf") for level in _LEVELS}
    unpacking, sizes = dict(packing), {}
    for _ in range(rounds):
        for level in _LEVELS:
            start = time.perf_counter()
            pieces = packed(data, level)
            middle = time.perf_counter()
            if unpacked(pieces) != len(data):
                raise RuntimeError(f"level {level} does not give back what it packed")
            packing[level] = min(packing[level], middle - start)
            unpacking[level] = min(unpacking[level], time.perf_counter() - middle)
            sizes[level] = sum(map(len, pieces))
    return [
        f"| {name} | {level or 'stored'} | {sizes[level] / len(data):.1%} | {packing[level] / packing[0]:.1f} x "
        f"| {unpacking[level] / unpacking[0]:.1f} x |"
        for level in _LEVELS
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.gguf")
    parser.add_argument(
        "--megabytes", type=int, default=64, help="how much of each file, from its middle (default: 64)"
    )
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args(arguments)
    print(f"zlib {zlib.ZLIB_RUNTIME_VERSION}, {given.megabytes} MB of each file, best of {given.rounds} rounds")
    print("| weights | level | size | time to pack | time to unpack |\n|---|---|---|---|---|")
    for path in given.models:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - given.megabytes * _CHUNK) // 2)
            data = file.read(given.megabytes * _CHUNK)
        print("\n".join(table(path.name, data, given.rounds)), flush=True)


if __name__ == "__main__":
    main()
