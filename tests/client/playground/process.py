"""`python -m client playground` as a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.client.gateway_process import environment
from tests.serving.server import ROOT


@dataclass(frozen=True, kw_only=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Playground:
    """url: with the token."""

    url: str
    process: subprocess.Popen[str]
    folder: Path

    @property
    def told(self) -> str:
        return (self.folder / "stderr").read_text()

    def get(self, path: str, **headers: str) -> Answered:
        return asked(self.url, "GET", path, None, headers)

    def post(self, path: str, body: object, **headers: str) -> Answered:
        return asked(self.url, "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def asked(url: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answered:
    """path: behind the token."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 80, timeout=60)
    try:
        connection.request(method, parts.path + path, body=body, headers=dict(headers))
        response = connection.getresponse()
        return Answered(status=response.status, headers=dict(response.headers), body=response.read())
    finally:
        connection.close()


@contextmanager
def playground(folder: Path, *arguments: str) -> Iterator[Playground]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stderr").open("w") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "client", "playground", "--port", "0", *arguments],
            env=environment(folder, {}),
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            cwd=ROOT,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "stderr").read_text()
        yield Playground(url=json.loads(line)["url"], process=process, folder=folder)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        if process.stdout is not None:
            process.stdout.close()
