"""A waitress server for one page: on a socket that listens already, few threads, nothing to wait for at its end."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import waitress.server

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

THREADS = 8
_STOP_SECONDS = 5.0


class Server:
    """Answers from construction on."""

    def __init__(self, application: WSGIApplication, listening: socket.socket) -> None:
        # a request that waits for a thread is none to warn of
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._server: Any = waitress.server.create_server(
            application, sockets=[listening], threads=THREADS, ident="decision-playground"
        )
        self._loop = threading.Thread(target=self._server.run, name="playground", daemon=True)
        self._loop.start()

    def stop(self) -> None:
        """Whoever looks at a page needs no answer any more."""
        self._server.close()
        self._loop.join(_STOP_SECONDS)
