"""A real server process for tests: started, asked over real sockets, always stopped."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SERVE = [sys.executable, str(ROOT / "container/serve")]
FAKE = [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "container/gunicorn.conf.py"), "tests.serving.fake_wsgi:app"]


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """One server process. With `wait=False` it is handed over before it is ready."""

    def __init__(
        self, command: list[str], folder: Path, settings: Mapping[str, str], *, wait: bool = True, cwd: Path = ROOT
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._out, self._err = folder / "stdout", folder / "stderr"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("DECISION_", "SAGEMAKER_"))}
        paths = os.pathsep.join([str(ROOT), str(ROOT / "container")])
        environ = clean | {"PYTHONPATH": paths, "DECISION_HOST": "127.0.0.1", "DECISION_PORT": "0", **settings}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(command, env=environ, stdout=out, stderr=err, cwd=cwd)
        self._wait = wait
        self.port = 0

    def __enter__(self) -> Server:
        try:
            self.port = int(self.log_line("Listening at")["message"].split(" (")[0].rsplit(":", 1)[1])
            if self._wait:
                self.until(lambda: self.out)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(35)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def log(self) -> list[dict[str, Any]]:
        """The complete lines on standard error, each of which must be JSON."""
        return [json.loads(line) for line in self.err.split("\n")[:-1]]

    def log_line(self, text: str) -> dict[str, Any]:
        """The first line that holds `text`; waits for it."""

        def found() -> dict[str, Any] | None:
            return next((line for line in self.log if text in json.dumps(line)), None)

        line: dict[str, Any] = self.until(found)
        return line

    def until(self, condition: Any, seconds: float = 60) -> Any:
        """Waits for a condition; tells the server's log when it does not come."""
        limit = time.monotonic() + seconds
        while True:
            if value := condition():
                return value
            if time.monotonic() > limit:
                raise AssertionError(f"the condition was not met within {seconds} s; stderr:\n{self.err}")
            if self.process.poll() is not None:
                if value := condition():
                    return value
                raise AssertionError(f"the server ended with {self.process.returncode}; stderr:\n{self.err}")
            time.sleep(0.01)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """An iterable body is sent in chunks, without a length."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        started = time.monotonic()
        try:
            connection.request(method, path, body=body, headers=dict(headers or {}))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return Reply(
            status=response.status, headers=dict(response.headers), body=content, seconds=time.monotonic() - started
        )

    def ask(self, body: object, path: str = "/invocations") -> Reply:
        return self.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def ping(self) -> Reply:
        return self.request("GET", "/ping")

    def metric(self, name: str) -> float:
        text = self.request("GET", "/metrics").body.decode()
        return sum(
            float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name
        )

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


def decision(**changes: Any) -> dict[str, Any]:
    options = [{"id": "a", "description": "First."}, {"id": "b", "description": "Second."}]
    return {"id": "d", "state": "Some evidence.", "question": "Which?", "options": options} | changes
