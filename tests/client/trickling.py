"""A server on loopback whose answers begin at once and arrive a little at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.client.loopback import Loopback, Quiet, serving

PIECES, APART_SECONDS = 40, 0.04  # each piece far below any deadline, all of them far past those of the tests


class Trickling(Loopback):
    """body: what every request is answered with. chunked: by pieces of unknown number, or with its length."""

    def __init__(self, body: bytes, *, chunked: bool) -> None:
        super().__init__(_Handler)
        self.body, self.chunked = body, chunked


class _Handler(Quiet):
    server: Trickling

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


def trickling(body: bytes, *, chunked: bool = False) -> AbstractContextManager[Trickling]:
    return serving(Trickling(body, chunked=chunked))
