"""Runs a server that never outlives who started it: `python guarded.py COMMAND …`.

Standard input is held open by the starter and never written to. When it ends, because the starter closed it or is gone
in any way, the server is told to stop, and is ended where it does not. Imports nothing of the project: it is run as a
file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

STOP_SECONDS = 30.0


def main(command: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, who closes the pipe
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        threading.Thread(target=_guard, args=(server,), daemon=True).start()
        return server.wait()


def _guard(server: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):  # sys.stdin's lock, held by a thread, would break the interpreter's own end
        pass
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
