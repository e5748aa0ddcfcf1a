"""A waitress server for one page: on a socket that listens already, few threads, nothing to wait for at its end."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import waitress.server
from waitress import wasyncore

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

THREADS = 8
_STOP_SECONDS = 1.0
MAX_MESSAGE_BYTES = 64 * 1024 * 1024  # past what any endpoint takes; up to it the answer says what it takes


class Server:
    """Answers from construction on."""

    def __init__(self, application: WSGIApplication, listening: socket.socket) -> None:
        # a request that waits for a thread is none to warn of
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._server: Any = waitress.server.create_server(
            application,
            sockets=[listening],
            threads=THREADS,
            ident="decision-playground",
            max_request_body_size=MAX_MESSAGE_BYTES,
        )
        self._loop = threading.Thread(target=self._server.run, name="playground", daemon=True)
        self._loop.start()

    def stop(self) -> None:
        """Who still looks at the page keeps a connection, and nothing waits for that. Closed by the thread that waits
        on the connections: closed under its hands, they would be its errors.
        """
        self._server.trigger.pull_trigger(lambda: wasyncore.close_all(self._server._map, ignore_all=True))
        self._loop.join(_STOP_SECONDS)
        self._server.task_dispatcher.shutdown(timeout=_STOP_SECONDS)
