"""A server on loopback that answers decisions (contract 3) as `FakeTarget` does, and may do something first."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from client.decisions import Decision, Option
from tests.client.evaluation.fake_target import FakeTarget


class ScriptedServer:
    """before: called with the number of each request, from 1, ahead of its answer; what it returns, if anything, is the
    answer's status and body.
    """

    def __init__(self) -> None:
        self.before: Callable[[int], tuple[int, dict[str, Any]] | None] = lambda number: None
        self.ids: list[str] = []
        self.url = ""

    def answer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        asked = json.loads(body)["decision"]
        self.ids.append(asked["id"])
        if (told := self.before(len(self.ids))) is not None:
            return told
        options = tuple(Option(**each) for each in asked["options"])
        found = FakeTarget().decide(Decision(**{**asked, "options": options}))
        result = {
            "id": asked["id"],
            "option_ids": found.option_ids,
            "probabilities": found.probabilities,
            "option_logits": [0.0] * len(options),
            "allowed_token_mass": found.label_mass,
            "readout": found.readout,
            "prompt_version": found.prompt_version,
            "prompt_sha256": found.prompt_sha256,
            "calibration": {"status": "none", "version": None, "temperature": 1.0},
            "input_tokens": 100,
            "timing": {"cached_tokens": 40},
            "model": {"name": "scripted"},
        }
        return 200, {"result": result}


@contextmanager
def running() -> Iterator[ScriptedServer]:
    server = ScriptedServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, told = server.answer(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(told).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # whoever asked is gone, as some tests want it
                self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
