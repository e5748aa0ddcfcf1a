"""Stands in for AWS's llama.cpp container: the same variables, /ping and /invocations, answered by llama-cpp-python.

No copy of it: one request at a time, no streaming, and of llama-server's routes chat completions, completions, models.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

from flags import StartError, flags, model  # type: ignore[import-not-found] # beside this file, in no package

_CHAT = ("messages", "temperature", "top_p", "top_k", "min_p", "max_tokens", "stop", "seed", "response_format", "tools",
         "tool_choice", "presence_penalty", "frequency_penalty", "repeat_penalty")  # fmt: skip
_TEXT = ("prompt", "temperature", "top_p", "top_k", "min_p", "max_tokens", "stop", "seed")


class Refused(Exception):
    """A request that cannot be answered: llama-server's 400."""


class Model:
    """Loads in the background; one request at a time."""

    def __init__(self, path: Path, options: Mapping[str, str]) -> None:
        self._path, self._options = path, options
        self._lock = threading.Lock()
        self._llama: Any = None

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def ready(self) -> bool:
        return self._llama is not None

    def load(self) -> None:
        from llama_cpp import Llama

        number = {flag: int(value) for flag, value in self._options.items() if value.removeprefix("-").isdigit()}
        threads = number.get("threads", os.cpu_count() or 1)
        self._llama = Llama(
            model_path=str(self._path),
            n_ctx=number.get("ctx-size", 0),  # 0: the model's own
            n_threads=threads,
            n_threads_batch=number.get("threads-batch", threads),
            n_batch=number.get("batch-size", 512),
            n_ubatch=number.get("ubatch-size", 512),
            verbose=False,
        )

    def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(request.get("messages"), list) or not request["messages"]:
            raise Refused("'messages' is required")
        return self._answer(self._llama.create_chat_completion, request, _CHAT)

    def text(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(request.get("prompt"), str):
            raise Refused("'prompt' is required")
        return self._answer(self._llama.create_completion, request, _TEXT)

    def _answer(
        self, create: Callable[..., dict[str, Any]], request: Mapping[str, Any], known: tuple[str, ...]
    ) -> dict[str, Any]:
        if request.get("stream"):
            raise Refused("the emulator's stand-in does not stream; leave 'stream' out")
        limit = int(self._options.get("n-predict", "-1"))
        chosen = {"max_tokens": None if limit < 0 else limit, **{key: request[key] for key in known if key in request}}
        with self._lock:
            try:
                answer = create(**chosen)
            except (ValueError, TypeError, KeyError) as error:
                raise Refused(str(error)) from error
        return {**answer, "model": self.name}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def do_GET(self) -> None:
        if self.path in ("/ping", "/health"):
            ready = self.model.ready
            self._answer(200 if ready else 503, {"status": "ok"} if ready else _error(503, "Loading model"))
        elif self.path == "/v1/models":
            self._answer(200, {"object": "list", "data": [{"id": self.model.name, "object": "model"}]})
        else:
            self._answer(404, _error(404, "File Not Found"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        routes = {"/invocations": self.model.chat, "/v1/chat/completions": self.model.chat,
                  "/v1/completions": self.model.text}  # fmt: skip
        if self.path not in routes:
            self._answer(404, _error(404, "File Not Found"))
        elif not self.model.ready:
            self._answer(503, _error(503, "Loading model"))
        else:
            self._answer(*_result(routes[self.path], body))

    def _answer(self, status: int, answer: Mapping[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        if self.path != "/ping":
            print(format % args, flush=True)


def _result(route: Callable[[dict[str, Any]], dict[str, Any]], body: bytes) -> tuple[int, dict[str, Any]]:
    try:
        request = json.loads(body)
        if not isinstance(request, dict):
            raise Refused("the body is no JSON object")
        return 200, route(request)
    except (ValueError, Refused) as error:
        return 400, _error(400, str(error))


def _error(status: int, message: str) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 404: "not_found_error", 503: "unavailable_error"}
    return {"error": {"code": status, "message": message, "type": kinds[status]}}


def main(environment: Mapping[str, str]) -> int:
    try:
        options = flags(environment)
        chosen = Model(model(environment, mounted=Path(environment["DECISION_MODEL_PATH"])), options)
    except StartError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    print(f"llama.cpp stand-in: {chosen.name} with {dict(options)}", flush=True)
    Handler.model = chosen
    # The emulator gives each container a port of its own; in the image it is always 8080.
    server = ThreadingHTTPServer(("127.0.0.1", int(environment["SAGEMAKER_BIND_TO_PORT"])), Handler)
    server.daemon_threads = False  # a request under way is answered before the process ends

    def end(signal_number: int, frame: FrameType | None) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=_load, args=(chosen,), daemon=True).start()
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    return 0


def _load(chosen: Model) -> None:
    try:
        chosen.load()
    except (ValueError, OSError, RuntimeError) as error:
        print(f"error loading model: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    print(f"{chosen.name} is loaded", flush=True)


if __name__ == "__main__":
    sys.exit(main(os.environ))
