"""A command that runs for the emulator and cannot outlive it; its output goes line by line to a log sink."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from local.emulator import leash
from local.emulator.log_sink import LineWriter


class LeashedProcess:
    """grace: seconds between SIGTERM and SIGKILL when it is ended."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, write: LineWriter, grace: float
    ) -> None:
        self._grace = grace
        self._process = subprocess.Popen(
            [sys.executable, "-I", leash.__file__, str(grace), *command],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._read, args=(write,), daemon=True, name="process-output")
        self._reader.start()

    def _read(self, write: LineWriter) -> None:
        output: IO[bytes] | None = self._process.stdout
        if output is None:
            raise RuntimeError("the process was started without a pipe")
        with output:
            for raw in output:
                write(raw.decode("utf-8", "replace").rstrip("\r\n"))

    @property
    def exit_code(self) -> int | None:
        """None while it runs. 128 + n when signal n ended it."""
        return self._process.poll()

    def wait(self, timeout: float) -> int | None:
        """The exit code, all output written; None when it still runs after `timeout` seconds."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(5)
        self._let_go()
        return code

    def end(self) -> None:
        """Ends the command and all it started; returns when they are gone."""
        self._let_go()
        if self.wait(self._grace + 10) is None:
            self._process.kill()
            self._process.wait(10)

    def _let_go(self) -> None:
        """Closes the pipe that the leash watches."""
        stdin = self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            if stdin is not None:
                stdin.close()
