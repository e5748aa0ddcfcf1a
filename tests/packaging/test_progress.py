"""Long work shows that it goes on: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

from tests.packaging.conftest import ROOT

_SIZE = struct.pack("HHHH", 24, 80, 0, 0)  # of the terminal: in one without a width there is no room for a bar
_WORK = (
    "from model_packaging.progress import progress\n"
    "with progress('downloading tiny.gguf', 4 << 20) as advance:\n"
    "    for _ in range(4):\n"
    "        advance(1 << 20)\n"
)


def test_on_a_terminal_there_is_a_bar_with_amount_and_speed() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, _SIZE)
    done = subprocess.run([sys.executable, "-c", _WORK], cwd=ROOT, stderr=theirs, stdout=subprocess.PIPE, check=True)
    os.set_blocking(ours, False)  # all that was written is there, and our own end keeps it
    shown = os.read(ours, 1 << 16)
    os.close(theirs)
    os.close(ours)
    assert b"downloading tiny.gguf:   0%|" in shown
    assert b"4.00M" in shown
    assert b"B/s" in shown
    assert done.stdout == b""


def test_elsewhere_there_is_a_line_with_the_amount() -> None:
    done = subprocess.run([sys.executable, "-c", _WORK], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("downloading tiny.gguf: 4.0 MiB in ")
    assert (len(done.stderr.splitlines()), done.stdout) == (1, "")
