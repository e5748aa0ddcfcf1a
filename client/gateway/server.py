"""A waitress server that stops as it should: nobody new is let in, who is inside gets an answer."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import waitress.server

from client.errors import Refused
from client.gateway.in_flight import InFlight
from client.gateway.refusals import channel_for

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

THREADS = 32
_FLUSH_SECONDS = 5.0


class Server:
    """Listens from construction on. Raises Refused where it cannot."""

    def __init__(
        self,
        application: WSGIApplication,
        *,
        host: str,
        port: int,
        max_body_bytes: int,
        say: Callable[[str], None],
    ) -> None:
        if not 0 <= port <= 65535:
            raise Refused(f"--port {port}: cannot listen there. Remedy: 0, for a free one, to 65535")
        # a request that waits for a thread is none to warn of
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listening = socket.create_server((host, port), family=family)
            server: Any = waitress.server.create_server(
                application,
                sockets=[listening],
                threads=THREADS,
                ident="decision-gateway",
                max_request_body_size=max_body_bytes + 1,  # waitress refuses from it on
                channel_request_lookahead=1,  # or a caller that hangs up would not be noticed
            )
            server.channel_class = channel_for(say, max_body_bytes)
        except (OSError, ValueError) as error:
            raise Refused(f"--host {host} --port {port}: cannot listen there: {error}") from error
        self._server = server
        self.port = int(listening.getsockname()[1])
        self._loop = threading.Thread(target=self._server.run, name="gateway", daemon=True)
        self._loop.start()

    def stop(self, in_flight: InFlight, *, timeout: float) -> bool:
        """Whether every request under way got its answer in time."""
        whole = in_flight.close(timeout)
        until = time.monotonic() + _FLUSH_SECONDS
        while self._unsent() and time.monotonic() < until:
            time.sleep(0.01)
        self._server.close()
        return whole

    def _unsent(self) -> bool:
        return any(channel.total_outbufs_len for channel in list(self._server.active_channels.values()))
