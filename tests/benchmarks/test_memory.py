"""Peaks of a process, turn by turn, beside what it keeps at that time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks.memory import MemoryWatch

_CHILD = """
import sys
for line in sys.stdin:
    held = bytearray(int(line) << 20)
    del held
    print("done", flush=True)
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        hold(process, 1)
        yield process
        process.kill()


def hold(process: subprocess.Popen[str], megabytes: int) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{megabytes}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's high-water mark is read from /proc")
def test_the_turn_with_the_most_beyond_kept_prefixes_counts_whatever_was_kept_in_others(
    child: subprocess.Popen[str],
) -> None:
    kept = 0
    watch = MemoryWatch(child.pid, lambda: f"# HELP\ndecision_kept_prefix_bytes {float(kept)}\n")
    watch.note()
    start = watch.highest.worker
    hold(child, 200)
    kept = 190 << 20
    watch.note()  # 10 MB beyond what is kept
    kept = 0
    watch.note()
    assert watch.highest.beyond < start + (50 << 20)
    hold(child, 120)
    watch.note()
    hold(child, 5)
    watch.note()
    assert (100 << 20) < watch.highest.worker - start < (140 << 20)
    assert watch.highest.kept == 0


def test_a_server_that_does_not_say_what_it_keeps_is_no_server_to_measure(child: subprocess.Popen[str]) -> None:
    with pytest.raises(RuntimeError, match="decision_kept_prefix_bytes"):
        MemoryWatch(child.pid, lambda: "")
