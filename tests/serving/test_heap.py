"""What a process keeps of large blocks that it has freed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONTAINER = Path(__file__).resolve().parents[2] / "container"
_PROGRAM = """
import sys
import numpy as np
from pathlib import Path
from decision_server import heap

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

if sys.argv[1] == "fixed":
    assert heap.give_back_large_blocks()
np.ones(30 << 20, dtype=np.uint8)  # freed at once: glibc's own limit is 30 MiB from now on
before = resident()
blocks = [np.ones((4 + index) << 20, dtype=np.uint8) for index in range(8)]
last = np.ones(2 << 20, dtype=np.uint8)  # lies behind them, where they are in the heap
del blocks
print(resident() - before - last.nbytes)
"""


def _kept(way: str) -> int:
    told = subprocess.run(
        [sys.executable, "-c", _PROGRAM, way],
        env={"PYTHONPATH": str(CONTAINER), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(told.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is read")
def test_freed_blocks_of_many_sizes_go_back_to_the_system() -> None:
    assert _kept("fixed") < 2 << 20
    assert _kept("as it is") > 16 << 20  # or this test would show nothing
