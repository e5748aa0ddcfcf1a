"""The page's server in this process, on a free port of loopback, in front of a made-up target."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from client.playground.guard import Guard
from client.playground.server import Server
from client.playground.site import Site
from client.playground.target import TargetFacts
from client.transport.exchange import Upstream

TOKEN = "a-token"


@contextmanager
def served(target: Upstream, facts: TargetFacts) -> Iterator[str]:
    """The page's address, with its token."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = int(listening.getsockname()[1])
        server = Server(Site(Guard(token=TOKEN, port=port), target, facts, None, deadline_seconds=30), listening)
        try:
            yield f"http://127.0.0.1:{port}/{TOKEN}/"
        finally:
            server.stop()


def made_up_answer() -> dict[str, Any]:
    """Of contract section 3, to the page's first example."""
    body: dict[str, Any] = json.loads(Path(__file__).with_name("answer.json").read_text())
    return body
