"""A model file as an upstream: a server of this project is started for it on a free port of loopback, and stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from client.errors import Refused
from client.transport import guarded
from client.transport.exchange import Answer, Request
from client.transport.failures import Failure
from client.transport.plain_server import PlainServer

SERVE = Path(__file__).resolve().parents[2] / "container" / "serve"
STOP_SECONDS = guarded.STOP_SECONDS + 5.0
_LAST_WORDS_SECONDS = 2.0
TELL_SECONDS = 5.0  # between two words of progress
_OURS = frozenset({"DECISION_MODEL_PATH", "DECISION_HOST", "DECISION_PORT", "DECISION_API_KEY"})


class LocalServer:
    """Ready from construction on. Raises Refused where it cannot be."""

    def __init__(
        self, model: str, settings: Sequence[tuple[str, str]], *, connections: int, say: Callable[[str], None]
    ) -> None:
        environment = _environment(model, settings)
        self._model, self._say = model, say
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `_stop`
        self._process = subprocess.Popen(
            [sys.executable, guarded.__file__, sys.executable, str(SERVE)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C is ours; the server gets its answers out first
        )
        try:
            ready = self._ready(model, say)
        except BaseException:
            self._stop()
            raise
        self._server = PlainServer(ready["url"], connections=connections)
        self._name = f"{model} (model {ready['model']})"
        say(f"{model} is loaded: {ready['model']}, after {ready['seconds']:.1f} s")

    @property
    def name(self) -> str:
        return self._name

    @property
    def url(self) -> str:
        """Where other programs on this machine can ask it, as long as it runs."""
        return self._server.name

    @property
    def process_id(self) -> int:
        """Of the process whose descendants do the work."""
        return self._process.pid

    def send(self, request: Request, *, timeout: float) -> Answer:
        try:
            return self._server.send(request, timeout=timeout)
        except Failure as failure:
            if failure.code in ("not_connected", "unreachable") and self._has_ended():
                raise Failure(failure.code, f"{self._model}: its server ended: {self._reason()}") from failure
            raise

    def close(self) -> None:
        self._server.close()
        self._stop()

    def _ready(self, model: str, say: Callable[[str], None]) -> dict[str, Any]:
        """What the server says when it can be asked: one line, or an end without any."""
        lines: list[bytes] = []
        told = threading.Event()

        def read() -> None:
            pipe = self._process.stdout
            lines.append(pipe.readline() if pipe else b"")
            told.set()

        threading.Thread(target=read, daemon=True).start()
        started = time.monotonic()
        say(f"{model}: a server is started for it on this machine, and stopped afterwards")
        while not told.wait(TELL_SECONDS):
            say(f"{model}: still loading after {time.monotonic() - started:.0f} s")
        if not lines[0]:
            raise Refused(f"{model}: its server does not start: {self._reason()}")
        ready: dict[str, Any] = json.loads(lines[0])
        return ready

    def _has_ended(self) -> bool:
        """By itself. Its last words are there a moment after its connections break."""
        try:
            self._process.wait(_LAST_WORDS_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return not self._log.closed

    def _reason(self) -> str:
        self._wait_for_end()
        self._log.seek(0)
        return reason(self._log.read().decode("utf-8", "replace"))

    def _stop(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._wait_for_end()
        finally:
            if self._process.stdout:
                self._process.stdout.close()
            self._log.close()

    def _wait_for_end(self) -> None:
        """It ends by itself, or is ended with all that it started: its session's processes are one group."""
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._say(f"warning: {self._model}: its server did not end within {STOP_SECONDS:g} s and is killed")
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def reason(log: str) -> str:
    """Of a server that ended: the error that it logged, or its last line."""
    last = "it ended without a word"
    for line in log.splitlines():
        if not line.strip():
            continue
        try:
            told = json.loads(line)
        except ValueError:
            last = line.removeprefix("serve: ")
            continue
        if isinstance(told, dict) and told.get("level") in ("error", "critical"):
            return str(told.get("error") or told.get("message"))
    return last


def _environment(model: str, settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Nothing of this process's own DECISION_ settings. Raises Refused."""
    path = Path(model)
    if not path.exists():
        raise Refused(f"--model {model}: no such file or folder. Remedy: give a .gguf, or a folder with manifest.json")
    if path.is_dir() and not (path / "manifest.json").is_file():
        raise Refused(f"--model {model}: a folder without manifest.json. Remedy: unpack a model.tar.gz into it")
    if path.is_file() and path.suffix != ".gguf":
        remedy = "Remedy: unpack it, and give the folder" if path.name.endswith((".tar.gz", ".tgz")) else "Give a .gguf"
        raise Refused(f"--model {model}: no .gguf. {remedy}")
    if not SERVE.is_file():
        raise Refused("--model: the server is not here; this client was copied alone. Remedy: ask one with --url")
    for name, _ in settings:
        if name in _OURS or not name.startswith("DECISION_"):
            raise Refused(f"--setting {name}: no setting of the server, or one that is set here by itself")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DECISION_", "SAGEMAKER_"))}
    own = {"DECISION_MODEL_PATH": str(path.resolve()), "DECISION_HOST": "127.0.0.1", "DECISION_PORT": "0"}
    return kept | dict(settings) | own
