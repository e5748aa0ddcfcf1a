"""A server on loopback whose answers begin at once and arrive a little at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECES, APART_SECONDS = 40, 0.04  # each piece far below any deadline, all of them far past those of the tests


class Trickling(ThreadingHTTPServer):
    """body: what every request is answered with. chunked: by pieces of unknown number, or with its length."""

    daemon_threads = True

    def __init__(self, body: bytes, *, chunked: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body, self.chunked = body, chunked
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Trickling
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if self.server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        size = -(-len(self.server.body) // PIECES)
        try:
            for start in range(0, len(self.server.body), size):
                self._piece(self.server.body[start : start + size])
                if self.server.ended.wait(APART_SECONDS):
                    return
            if self.server.chunked:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:  # who asked has hung up
            self.close_connection = True

    def _piece(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self.server.chunked else piece)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def trickling(body: bytes, *, chunked: bool = False) -> Iterator[Trickling]:
    with Trickling(body, chunked=chunked) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            serving.join()
