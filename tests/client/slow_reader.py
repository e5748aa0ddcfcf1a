"""A server on loopback that takes its time before it reads a body, or never does."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager

from tests.client.loopback import Loopback, Quiet, serving

BODY = b'{"x": "' + b"x" * (16 * 1024 * 1024) + b'"}'  # past what the buffers of two sockets hold


class SlowReader(Loopback):
    """after: seconds from a request's head to the first look at its body; None: as long as the server lives."""

    after: float | None = 0.0

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.read: list[int] = []

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        super().server_bind()


class _Handler(Quiet):
    server: SlowReader

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


def slow_reader() -> AbstractContextManager[SlowReader]:
    return serving(SlowReader())
