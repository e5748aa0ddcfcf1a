"""A server on loopback that takes its time before it reads a body, or never does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b'{"x": "' + b"x" * (16 * 1024 * 1024) + b'"}'  # past what the buffers of two sockets hold


class SlowReader(ThreadingHTTPServer):
    """after: seconds from a request's head to the first look at its body; None: as long as the server lives."""

    daemon_threads = True
    after: float | None = 0.0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.ended = threading.Event()
        self.read: list[int] = []

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        super().server_bind()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: SlowReader
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.ended.wait(self.server.after)
        try:
            self.server.read.append(len(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
        except OSError:  # who asked has hung up
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def slow_reader() -> Iterator[SlowReader]:
    with SlowReader() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            serving.join()
