"""A running container: its process, its health, its log. How it is made ready is `launch`'s business."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local.emulator.leashed_process import LeashedProcess
from local.emulator.log_sink import LogSink

GRACE_SECONDS = 30.0  # between SIGTERM and SIGKILL, as SageMaker gives
PING_SECONDS = 2.0  # SageMaker's own limit for one /ping


class LaunchError(Exception):
    """Why a container did not become healthy, in SageMaker's words and with the end of its log."""


class Container:
    """A running, healthy container. Made by `launch`; a process that dies later is started again, as SageMaker does."""

    def __init__(
        self,
        *,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        folder: Path,
        sink: LogSink,
        release: Callable[[], None],
    ) -> None:
        """release: called once, when the container has stopped for good."""
        self.sink = sink
        self.log_group = ""
        self.log_stream = ""
        self._command, self._env, self._cwd, self._folder = command, env, cwd, folder
        self._release = contextlib.ExitStack()
        self._release.callback(release)
        self._stopping = threading.Event()
        self._start()

    def _start(self) -> None:
        self.port = _free_port()
        # The server's own switch and SageMaker's: a plain HTTP server for tests reads the second.
        place = {"DECISION_PORT": str(self.port), "SAGEMAKER_BIND_TO_PORT": str(self.port)}
        self._process = LeashedProcess(
            self._command, env={**self._env, **place}, cwd=self._cwd, write=self.sink.write, grace=GRACE_SECONDS
        )

    def await_health(self, seconds: float, cancelled: Callable[[], bool]) -> None:
        """Returns when /ping answers 200. Raises LaunchError when the process ends or `seconds` pass before that."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not cancelled():
            code = self._process.wait(0.1)
            if code is not None:
                raise LaunchError(f"its process ended with code {code}")
            if self.answers_ping():
                return
        raise LaunchError(f"no answer 200 to GET /ping within {seconds:g} s")

    def answers_ping(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PING_SECONDS)
        try:
            connection.request("GET", "/ping")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def keep_alive(self) -> None:
        """Starts the process again whenever it ends, waiting longer each time it ends at once."""
        threading.Thread(target=self._supervise, daemon=True, name="container-supervisor").start()

    def _supervise(self) -> None:
        pause = 0.5
        while not self._stopping.is_set():
            started = time.monotonic()
            code = None
            while code is None and not self._stopping.is_set():
                code = self._process.wait(1.0)
            if self._stopping.is_set():
                return
            pause = 1.0 if time.monotonic() - started > 60 else min(pause * 2, 30.0)
            self.sink.write(
                f"[emulator] the container's process ended with code {code}; starting it again in {pause:g} s"
            )
            if self._stopping.wait(pause):
                return
            self._start()

    def stop(self) -> None:
        self._stopping.set()
        self._process.end()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._release.close()
        self.sink.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
