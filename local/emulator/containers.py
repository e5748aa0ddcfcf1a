"""One endpoint's container: unpacked model, process, health, log. Knows nothing of endpoints' states."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from local.emulator.leashed_process import LeashedProcess
from local.emulator.log_sink import LineWriter, LogSink
from local.emulator.model_data import ModelDataError, OpenObject, unpack
from local.emulator.records import VariantPlan
from local.emulator.scope import Scope

GRACE_SECONDS = 30.0  # between SIGTERM and SIGKILL, as SageMaker gives
PING_SECONDS = 2.0  # SageMaker's own limit for one /ping


class RunnableImage(Protocol):
    """What an image becomes on this machine: a command that is the image's entry point."""

    @property
    def command(self) -> Sequence[str]: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def cwd(self) -> Path: ...


class LaunchError(Exception):
    """Why a container did not become healthy, in SageMaker's words and with the end of its log."""


@dataclass(frozen=True, kw_only=True)
class ContainerTools:
    """What a container needs of its surroundings. prepare: image by digest → how to run it; may take minutes."""

    prepare: Callable[[str], RunnableImage]
    open_object: OpenObject
    log_writer: Callable[[Scope, str, str], LineWriter]
    work: Path
    logs: Path
    base_env: Mapping[str, str]


class Container:
    """A running, healthy container. Made by `launch`; a process that dies later is started again, as SageMaker does."""

    def __init__(
        self, *, command: Sequence[str], env: Mapping[str, str], cwd: Path, folder: Path, sink: LogSink
    ) -> None:
        self.sink = sink
        self.log_group = ""
        self.log_stream = ""
        self._command, self._env, self._cwd, self._folder = command, env, cwd, folder
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
        self.sink.close()


def launch(
    tools: ContainerTools, scope: Scope, endpoint: str, plan: VariantPlan, cancelled: Callable[[], bool]
) -> Container:
    """Pulls, unpacks, starts, waits for health. Raises LaunchError; then nothing is left running or unpacked."""
    instance = f"i-{uuid.uuid4().hex[:17]}"
    group, stream = f"/aws/sagemaker/Endpoints/{endpoint}", f"{plan.name}/{instance}"
    sink = LogSink(
        path=tools.logs / "endpoints" / f"{endpoint}-{plan.name}-{instance}.log",
        also=tools.log_writer(scope, group, stream),
    )
    folder = tools.work / instance
    try:
        image = tools.prepare(plan.image)
        if plan.model_data_url:
            unpack(plan.model_data_url, folder, tools.open_object)
        else:
            folder.mkdir(parents=True)
        env = {**tools.base_env, **image.env, "DECISION_HOST": "127.0.0.1", "DECISION_MODEL_PATH": str(folder)}
        container = Container(
            command=image.command, env={**env, **plan.environment}, cwd=image.cwd, folder=folder, sink=sink
        )
    except ModelDataError as error:
        _give_up(sink, folder)
        raise LaunchError(str(error)) from error
    except Exception as error:
        sink.write(f"[emulator] {type(error).__name__}: {error}")
        _give_up(sink, folder)
        raise LaunchError(f"The image {plan.image} cannot be run here: {error}") from error
    container.log_group, container.log_stream = group, stream
    try:
        container.await_health(plan.startup_timeout, cancelled)
    except LaunchError as error:
        tail = "\n".join(sink.tail()[-12:])
        container.stop()
        raise LaunchError(
            f"The primary container for production variant {plan.name} did not pass the ping health check. "
            f"Please check CloudWatch logs for this endpoint. ({error}; log group {group}, stream {stream})\n{tail}"
        ) from error
    container.keep_alive()
    return container


def _give_up(sink: LogSink, folder: Path) -> None:
    sink.close()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
