"""Runs one command and ends it, with all it started, when the process that holds the other end of standard input is
gone.

Started as a program: `python leash.py GRACE_SECONDS COMMAND ARGUMENT…`. So neither a build nor an endpoint's
container outlives the emulator, however that ends. It knows nothing of what it runs. A closed or readable standard
input means: end it now.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time


def main() -> int:
    grace, command = float(sys.argv[1]), sys.argv[2:]
    # A terminal's Ctrl-C reaches every process of the group; this one must outlive it to clean up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    ended = _wait_for_exit_or_order(child)
    _end_group(child, 0.0 if ended else grace)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _wait_for_exit_or_order(child: subprocess.Popen[bytes]) -> bool:
    """True when the command ended by itself, False when it is to be ended."""
    exited, tell = os.pipe()

    def watch() -> None:
        child.wait()
        os.close(tell)

    threading.Thread(target=watch, daemon=True).start()
    ready, _, _ = select.select([sys.stdin, exited], [], [])
    return exited in ready


def _end_group(child: subprocess.Popen[bytes], grace: float) -> None:
    """SIGTERM to the whole group, SIGKILL to what is left after `grace` seconds."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if grace:
            os.killpg(child.pid, signal.SIGTERM)
            deadline = time.monotonic() + grace
            while time.monotonic() < deadline and _group_alive(child):
                time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)


def _group_alive(child: subprocess.Popen[bytes]) -> bool:
    child.poll()  # reaps the leader: a zombie still counts as a member of its group
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
