"""A small server that answers as a model hub does: the hub redirects to a storage host, which has the bytes."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import quote, unquote

REPO, REVISION, FILE = "owner/model-GGUF", "0123456789abcdef0123456789abcdef01234567", "tiny.gguf"


@dataclass
class Request:
    host: str  # "hub" or "storage"
    path: str
    authorization: str | None
    range: str | None


@dataclass
class ModelHub:
    """What the server holds and how it behaves. Tests set the knobs before they ask.

    statuses: answers the hub gives first, one a request, with these headers. cut_after: bytes after which the storage
    host drops the connection, one a request. states_length False: the end of the connection is the end of the bytes.
    files: further ones of the repository, by path. storage_statuses: what the storage host answers first.
    hub_headers, storage_headers: said besides, or in place of what is true. refuses_ranges: 416 is the answer to any.
    """

    content: bytes
    files: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    storage_url: str = ""
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    storage_statuses: list[int] = field(default_factory=list)
    cut_after: list[int] = field(default_factory=list)
    ignores_range: bool = False
    refuses_ranges: bool = False
    hub_headers: dict[str, str] = field(default_factory=dict)
    storage_headers: dict[str, str] = field(default_factory=dict)
    states_length: bool = True
    announces: bool = True
    commit: str = REVISION
    requests: list[Request] = field(default_factory=list)

    def ranges(self) -> list[str | None]:
        return [request.range for request in self.requests if request.host == "storage"]


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[ModelHub]
    role: ClassVar[str]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        headers = self.headers
        self.hub.requests.append(Request(self.role, self.path, headers.get("Authorization"), headers.get("Range")))
        place = f"/{REPO}/resolve/{REVISION}/"
        name = unquote(self.path).removeprefix(place).removeprefix("/blob/")
        content = self.hub.files.get(name, self.hub.content if name == FILE else None)
        if self.role == "storage" and self.hub.refuses_ranges and headers.get("Range"):
            self._answer(416, {})
        elif self.role == "storage" and self.hub.storage_statuses:
            self._answer(self.hub.storage_statuses.pop(0), {})
        elif self.role == "storage" and content is not None:
            self._send_bytes(content)
        elif self.hub.statuses:
            status, extra = self.hub.statuses.pop(0)
            self._answer(status, extra)
        elif content is None or not self.path.startswith(place):
            self._answer(404, {"X-Error-Code": "EntryNotFound"})
        else:
            facts = {"X-Repo-Commit": self.hub.commit}
            if self.hub.announces:
                facts["X-Linked-Size"] = str(len(content))
                facts["X-Linked-Etag"] = f'"{hashlib.sha256(content).hexdigest()}"'
            place = f"{self.hub.storage_url}/blob/{quote(name)}"
            self._answer(302, {"Location": place, **facts, **self.hub.hub_headers})

    def _send_bytes(self, content: bytes) -> None:
        start, status = 0, 200
        asked = self.headers.get("Range")
        extra: dict[str, str] = {}
        if asked and not self.hub.ignores_range:
            start, status = int(asked.removeprefix("bytes=").removesuffix("-")), 206
            extra["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        self.send_response(status)
        if self.hub.states_length:
            extra["Content-Length"] = str(len(body))
        for name, value in {**extra, **self.hub.storage_headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = not self.hub.states_length
        if self.hub.cut_after:
            self.wfile.write(body[: self.hub.cut_after.pop(0)])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def _answer(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """The tests read `requests` instead."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up early is what some tests are about; anything else is a fault of this server."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def serve_model_hub(content: bytes, *, files: dict[str, bytes] | None = None) -> Iterator[ModelHub]:
    hub = ModelHub(content=content, files=files or {})
    servers = []
    for role in ("hub", "storage"):
        handler = type(f"_{role.title()}Handler", (_Handler,), {"hub": hub, "role": role})
        server = _Server(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
    hub.url, hub.storage_url = (f"http://127.0.0.1:{server.server_port}" for server, _ in servers)
    try:
        yield hub
    finally:
        for server, thread in servers:
            server.shutdown()
            server.server_close()
            thread.join()
