"""Routes (contract 1): HTTP in, HTTP out. Every error leaves as JSON. Knows no model, no numpy, no llama_cpp."""

from __future__ import annotations

import logging
import select
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from decision_server.config import Config
from decision_server.errors import Refusal
from decision_server.lifecycle import Lifecycle, State
from decision_server.metrics import CONTENT_TYPE as METRICS_CONTENT_TYPE
from decision_server.metrics import Metrics
from decision_server.request_body import read_body
from decision_server.request_log import LoggedAnswer, RequestLog
from decision_server.wire.decision_bodies import DecisionRequest, read_request
from decision_server.wire.dialects import check_content_encoding, check_media_type
from decision_server.wire.error_bodies import CONTENT_TYPE, error_body, error_headers
from decision_server.wire.json_body import parse

_log = logging.getLogger(__name__)
_SCORING_ROUTES = ("/invocations", "/v1/decisions")


class Answering(Protocol):
    """What the routes need of the loaded server."""

    @property
    def queue_depth(self) -> int:
        """Requests waiting or running now."""

    def answer(
        self, asked: DecisionRequest, *, received: float, deadline: float, gone: Callable[[], bool]
    ) -> LoggedAnswer:
        """Raises Refusal."""


def create_app(config: Config, lifecycle: Lifecycle[Any], metrics: Metrics) -> Flask:
    app = Flask("decision_server", static_folder=None)
    app.extensions["lifecycle"] = lifecycle  # for the worker that runs this app
    app.url_map.merge_slashes = False  # a redirect would be HTML

    @app.get("/ping", provide_automatic_options=False)
    def ping() -> Response:
        ready = lifecycle.state is State.READY
        body = '{"status":"ok"}' if ready else f'{{"status":"{lifecycle.state.value}"}}'
        return Response(body, 200 if ready else 503, content_type=CONTENT_TYPE)

    @app.get("/metrics", provide_automatic_options=False)
    def read_metrics() -> Response:
        return Response(metrics.text(), content_type=METRICS_CONTENT_TYPE)

    def score() -> Response:
        received = time.monotonic()
        request_id = uuid.uuid4().hex
        told = RequestLog(request_id=request_id)
        facts: Mapping[str, object] = {}
        try:
            answer = _answer(config, lifecycle.parts, received, told)
            response = Response(answer.body, 200, {"Content-Type": CONTENT_TYPE, "X-Request-Id": request_id})
            code, facts = "ok", answer.facts
        except Refusal as refusal:
            response, code = _refused(refusal, request_id), refusal.code
        except Exception:  # noqa: BLE001 - the border: any fault is logged with its trace, and the caller gets its id
            _log.exception("a request failed", extra={"facts": {"request_id": request_id}})
            response, code = _refused(_internal(), request_id), "internal"
        seconds = time.monotonic() - received
        metrics.answered(response.status_code, code, seconds)
        line = told.facts(
            status=response.status_code, code=code, seconds=seconds, prefixes=metrics.prefix_changes(), answer=facts
        )
        _log.info("answered", extra={"facts": line})
        return response

    for path in _SCORING_ROUTES:
        app.add_url_rule(path, view_func=score, methods=["POST"], provide_automatic_options=False)

    @app.errorhandler(HTTPException)
    def no_route(error: HTTPException) -> Response:
        response = _refused(_of_http(error), uuid.uuid4().hex)
        if isinstance(error, MethodNotAllowed):
            response.headers["Allow"] = _allowed(error)  # RFC 9110 asks for it with every 405
        return response

    return app


def _answer(config: Config, parts: Answering, received: float, told: RequestLog) -> LoggedAnswer:
    told.queue_depth = parts.queue_depth
    environ = request.environ
    check_media_type(environ.get("CONTENT_TYPE"))
    check_content_encoding(environ.get("HTTP_CONTENT_ENCODING"))
    body = read_body(
        environ["wsgi.input"].read,
        content_length=environ.get("CONTENT_LENGTH") or None,
        max_bytes=config.max_body_bytes,
        timeout_seconds=config.read_timeout_seconds,
    )
    asked = read_request(parse(body), max_decisions=config.max_decisions)
    told.dialect, told.decisions = asked.dialect, len(asked.decisions)
    deadline = received + config.deadline_seconds
    return parts.answer(asked, received=received, deadline=deadline, gone=_gone(environ.get("gunicorn.socket")))


def _gone(sock: Any) -> Callable[[], bool]:
    """Whether the caller has closed its side of the connection. A half-closed one counts: no HTTP client needs it."""
    if sock is None:  # a test client
        return lambda: False
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return lambda: bool(poll.poll(0))


def _refused(refusal: Refusal, request_id: str) -> Response:
    response = Response(error_body(refusal, request_id), refusal.status)
    for name, value in error_headers(refusal, request_id).items():
        response.headers[name] = value
    return response


def _internal() -> Refusal:
    return Refusal("internal", "the server failed on this request; its log names the request id")


def _allowed(error: MethodNotAllowed) -> str:
    return ", ".join(sorted(error.valid_methods or ()))


def _of_http(error: HTTPException) -> Refusal:
    if error.code == 404:
        routes = "GET /ping, POST /invocations, POST /v1/decisions, GET /metrics"
        return Refusal("not_found", f"no route {request.path[:200]!r}; there are {routes}")
    if isinstance(error, MethodNotAllowed):
        message = f"{request.method} {request.path}: not allowed; use {_allowed(error)}"
        return Refusal("method_not_allowed", message)
    if error.code is not None and error.code < 500:
        return Refusal("malformed_http", f"the request is not valid: {error.name}")
    return _internal()
