"""The memory of the processes below one, as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from client.comparison.memory import peak_bytes_below


def status(proc: Path, pid: int, *, parent: int, peak: int | None) -> None:
    (proc / str(pid)).mkdir()
    lines = [f"Name:\tx{pid}", f"PPid:\t{parent}", *([] if peak is None else [f"VmHWM:\t  {peak} kB"])]
    (proc / str(pid) / "status").write_text("\n".join(lines) + "\n")


def test_peaks_of_all_below_the_process_are_added_and_no_others(tmp_path: Path) -> None:
    for pid, parent, peak in ((10, 1, 100), (11, 10, 20), (12, 11, 3), (13, 1, 5000), (14, 10, None)):
        status(tmp_path, pid, parent=parent, peak=peak)
    assert peak_bytes_below(10, proc=tmp_path) == 23 * 1024


def test_where_nothing_runs_below_or_the_system_has_no_such_numbers_nothing_is_said(tmp_path: Path) -> None:
    status(tmp_path, 10, parent=1, peak=100)
    assert peak_bytes_below(10, proc=tmp_path) is None
    assert peak_bytes_below(10, proc=tmp_path / "none") is None


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system has no /proc")
def test_what_a_child_held_for_a_moment_is_counted() -> None:
    code = "block = bytearray(200_000_000); del block; print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        held = peak_bytes_below(os.getpid())
        child.communicate(b"\n")
    assert held is not None
    assert held > 200_000_000
