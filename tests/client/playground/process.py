"""`python -m client playground` as a process of its own."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.client import client_process
from tests.client.client_process import Running


@dataclass(frozen=True, kw_only=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Playground(Running):
    """url: with the token."""

    def get(self, path: str, **headers: str) -> Answered:
        return asked(self.url, "GET", path, None, headers)

    def post(self, path: str, body: object, **headers: str) -> Answered:
        return asked(self.url, "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})


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
    with client_process.running(folder, "playground", *arguments, settings={}, stop_seconds=60) as started:
        yield Playground(**vars(started))
