"""The processes of a comparison: started, spoken to, watched for what they use, always stopped. Linux only (/proc).

Each starts with an environment that names no thread policy, so that every contestant has its own default: llama.cpp's
peers GNU OpenMP's, this project's server the one that its engine sets.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv/bin/python"
BENCH_PYTHON = ROOT / ".venv-bench/bin/python"
START_SECONDS = 120.0
STOP_SECONDS = 40.0
_CLEARED = ("DECISION_", "SAGEMAKER_", "OMP_", "GOMP_", "LLAMA_", "GGML_", "GUNICORN_")


_policy: dict[str, str] = {}


def wait_passively() -> None:
    """From now on all processes start with compute threads that sleep while they wait, whatever their default is."""
    _policy["OMP_WAIT_POLICY"] = "passive"


class ProcessFailed(Exception):
    """A process of the comparison ended or stayed silent; its text holds the end of what it said."""


class Watched:
    """One process and its children. The end of its standard error is told when it fails."""

    def __init__(self, command: Iterable[str | Path], log: Path, settings: Mapping[str, str] | None = None) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(_CLEARED)}
        environ = clean | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "container")]),
            **_policy,
            **(settings or {}),
        }
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        self.started = time.perf_counter()
        with log.open("wb") as err:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                cwd=ROOT,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
            )

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def failed(self, what: str) -> ProcessFailed:
        tail = self._log.read_text(errors="replace")[-3000:]
        return ProcessFailed(f"{what}; exit code {self.process.poll()}. The end of {self._log.name}:\n{tail}")

    @property
    def pids(self) -> list[int]:
        found, ahead = [], [self.process.pid]
        while ahead:
            pid = ahead.pop()
            found.append(pid)
            for file in Path(f"/proc/{pid}/task").glob("*/children"):
                ahead += map(int, _read(file).split())
        return found

    def cpu_seconds(self) -> float:
        """CPU time of all its threads and children until now."""
        files = [file for pid in self.pids for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int((_read(file).split() or ["0"])[0]) for file in files) / 1e9

    def line(self, stream: IO[str] | None = None) -> str:
        """The next line on standard output. Raises ProcessFailed where there is none."""
        text = self.process.stdout.readline() if self.process.stdout else ""
        if not text:
            self.process.wait(5)
            raise self.failed("a process ended before it answered")
        return text


class PeerProcess(Watched):
    """`peer.py` on the other end of two pipes. facts: what it says of itself at the start."""

    def __init__(self, model: Path, log: Path, *, n_ctx: int, n_threads: int, settings: str) -> None:
        arguments: list[str | Path] = [
            "--model",
            model,
            "--n-ctx",
            str(n_ctx),
            "--n-threads",
            str(n_threads),
            "--settings",
            settings,
        ]
        super().__init__([PYTHON, "-m", "benchmarks.peer", *arguments], log)
        self.facts: dict[str, Any] = json.loads(self.line())

    def call(self, do: str, **arguments: Any) -> Any:
        if self.process.stdin is None:
            raise ProcessFailed("the peer has no standard input")
        self.process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.line())


class OwnServer(Watched):
    """This project's server as it ships: `container/serve`, gunicorn, one keep-alive connection.

    ready_seconds: from the start of the process to its ready line.
    """

    def __init__(self, model: Path, log: Path, *, n_ctx: int, settings: Mapping[str, str] | None = None) -> None:
        given = {
            "DECISION_MODEL_PATH": str(model),
            "DECISION_HOST": "127.0.0.1",
            "DECISION_PORT": "0",
            "DECISION_N_CTX": str(n_ctx),
            "DECISION_CHAT_N_CTX": "0",  # the peers have no second context either
        }
        super().__init__([PYTHON, ROOT / "container/serve"], log, given | dict(settings or {}))
        ready = json.loads(self.line())
        self.ready_seconds = time.perf_counter() - self.started
        self.loaded_seconds = float(ready["seconds"])
        self.port = int(ready["url"].rsplit(":", 1)[1])
        self.caller = Caller(self.port)

    @property
    def worker_pid(self) -> int:
        return self.pids[1]

    def close(self) -> None:
        if hasattr(self, "caller"):
            self.caller.close()
        super().close()


class OpenAiServer(Watched):
    """(d): llama-cpp-python's own server, able to answer with log-probabilities."""

    def __init__(self, model: Path, log: Path, *, n_ctx: int, n_threads: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        arguments: list[str | Path] = [
            "--model",
            model,
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--n_ctx",
            str(n_ctx),
        ]
        arguments += ["--n_threads", str(n_threads), "--n_threads_batch", str(n_threads), "--logits_all", "true"]
        super().__init__([BENCH_PYTHON, "-m", "llama_cpp.server", *arguments, "--verbose", "false"], log)
        self.caller = Caller(self.port)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                if self.caller.get("/v1/models").status == 200:
                    return
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    failure = self.failed("the OpenAI server of llama-cpp-python did not start")
                    self.close()
                    raise failure from None
                time.sleep(0.1)

    def one_token(self, prompt: str) -> tuple[float, Any]:
        """Seconds, and the answer, of one token with the log-probabilities of ten."""
        body = {"prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": 10}
        reply = self.caller.post("/v1/completions", body)
        if reply.status != 200:
            raise self.failed(f"the OpenAI server answered {reply.status}: {reply.body[:300]!r}")
        return reply.seconds, json.loads(reply.body)

    def close(self) -> None:
        self.caller.close()
        super().close()


class Reply:
    """status, body, and seconds as the caller sees them: from before the request is written to the body's last byte."""

    def __init__(self, status: int, body: bytes, seconds: float) -> None:
        self.status, self.body, self.seconds = status, body, seconds


class Caller:
    """One keep-alive connection."""

    def __init__(self, port: int, *, timeout: float = 300.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def post(self, path: str, body: object) -> Reply:
        return self._send("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> Reply:
        return self._send("GET", path, None)

    def send_only(self, path: str, body: object) -> None:
        """Writes a request whose answer nobody will read."""
        self._connect()
        self._connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def close(self) -> None:
        self._connection.close()

    def _send(self, method: str, path: str, body: bytes | None) -> Reply:
        self._connect()
        began = time.perf_counter()
        try:
            self._connection.request(method, path, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        return Reply(response.status, content, time.perf_counter() - began)

    def _connect(self) -> None:
        """Before the clock starts: servers close connections that are idle for some seconds (uvicorn: 5)."""
        sock = self._connection.sock
        if sock is not None and select.select([sock], [], [], 0)[0]:
            self._connection.close()
            sock = None
        if sock is None:
            self._connection.connect()


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the thread has just ended
        return ""
