"""A container that does what its model's environment says: answers with what it received, fails, hangs, dies."""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(503 if os.environ.get("FAKE_HEALTH") == "never" else 200, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if body == b"die":
            os._exit(7)
        if body.startswith(b"wait "):
            time.sleep(float(body.split()[1]))
        if body.startswith(b"status "):
            self._answer(int(body.split()[1]), b'{"error": "as asked"}')
            return
        if body.startswith(b"stream "):
            self._stream(int(body.split()[1]))
            return
        folder = Path(os.environ["DECISION_MODEL_PATH"])
        told = {
            "body": body.decode(),
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "files": sorted(path.name for path in folder.iterdir()),
            "folder": str(folder),
            "environment": {
                name: value
                for name, value in os.environ.items()
                if name.startswith(("FAKE_", "DECISION_", "AWS_", "SAGEMAKER_"))
            },
            "pid": os.getpid(),
        }
        self._answer(200, json.dumps(told).encode(), custom=self.headers.get("X-Amzn-SageMaker-Custom-Attributes"))

    def _stream(self, parts: int) -> None:
        """Each part when the one before it is on its way."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for number in range(parts):
            self.wfile.write(b"part %d\n" % number)
            self.wfile.flush()
            time.sleep(0.05)

    def _answer(self, status: int, body: bytes, custom: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if custom:
            self.send_header("X-Amzn-SageMaker-Custom-Attributes", custom)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        print(format % args, flush=True)


if __name__ == "__main__":
    print("the fake container starts", flush=True)
    if os.environ.get("FAKE_START") == "crash":
        print("cannot load the model: out of luck", file=sys.stderr, flush=True)
        sys.exit(3)
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["SAGEMAKER_BIND_TO_PORT"])), Handler)
    print(f"listens on {server.server_port}", flush=True)
    server.serve_forever()
