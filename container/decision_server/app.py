"""Routes (contract 1): HTTP in, HTTP out. Every error leaves as JSON. Knows no model, no numpy, no llama_cpp."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from decision_server.answering import answer
from decision_server.api_key import check_api_key
from decision_server.config import Config
from decision_server.errors import Refusal
from decision_server.lifecycle import Lifecycle, State
from decision_server.metrics import CONTENT_TYPE as METRICS_CONTENT_TYPE
from decision_server.metrics import Metrics
from decision_server.named_routes import NamedRoutes
from decision_server.openapi.document import PATH as OPENAPI_PATH
from decision_server.openapi.document import document
from decision_server.request_log import LoggedAnswer, RequestLog
from decision_server.streamed import StreamedAnswer, Told
from decision_server.wire.dialects import ROUTES, Dialect
from decision_server.wire.error_bodies import CONTENT_TYPE, error_answer
from decision_server.wire.error_readers import error_dialect

_log = logging.getLogger(__name__)
# what is wrong with one request, and will be when it is sent again; a 404 here is a model's name in its body
_OF_THE_BODY = frozenset({400, 404, 413, 422})


def create_app(config: Config, lifecycle: Lifecycle[Any], metrics: Metrics) -> Flask:
    app = Flask("decision_server", static_folder=None)
    app.extensions["lifecycle"] = lifecycle  # for the worker that runs this app
    app.url_map.merge_slashes = False  # a redirect would be HTML
    app.wsgi_app = NamedRoutes(app.wsgi_app)  # type: ignore[method-assign]  # as Flask's documentation wraps an app

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
        told = RequestLog(request_id=request_id, dialect=ROUTES[request.path])

        def tell(status: int, code: str, facts: Mapping[str, object]) -> None:
            seconds = time.monotonic() - received
            metrics.answered(status, code, seconds)
            changes = metrics.prefix_changes()
            line = told.facts(status=status, code=code, seconds=seconds, prefixes=changes, answer=facts)
            _log.info("answered", extra={"facts": line})

        try:
            found = answer(config, lambda: lifecycle.parts, request.environ, received=received, told=told)
            match found:
                case StreamedAnswer():
                    body: bytes | Told = Told(found, partial(tell, 200))
                    content_type = found.content_type
                case LoggedAnswer():
                    body, content_type = found.body, CONTENT_TYPE
                    tell(200, "ok", found.facts)
            return Response(body, 200, {"Content-Type": content_type, "X-Request-Id": request_id})
        except Refusal as refusal:
            response, code = _refused(refusal, request_id, told.dialect), refusal.code
        except Exception:  # noqa: BLE001 - the border: any fault is logged with its trace, and the caller gets its id
            _log.exception("a request failed", extra={"facts": {"request_id": request_id}})
            response, code = _refused(_internal(), request_id, told.dialect), "internal"
        tell(response.status_code, code, {})
        if config.batch and response.status_code in _OF_THE_BODY:
            # Batch Transform drops every answer of an object in which one line got a 4xx: its error stands in place.
            response.status_code = 200
        return response

    @app.get("/v1/models", provide_automatic_options=False)
    def list_models() -> Response:
        try:
            check_api_key(config.api_key, request.environ.get("HTTP_AUTHORIZATION"))
            return Response(lifecycle.parts.names.body(), content_type=CONTENT_TYPE)
        except Refusal as refusal:
            return _refused(refusal, uuid.uuid4().hex, None)

    @app.get(OPENAPI_PATH, provide_automatic_options=False)
    def describe() -> Response:
        try:
            check_api_key(config.api_key, request.environ.get("HTTP_AUTHORIZATION"))
            told = document(
                lifecycle.parts.names,
                max_decisions=config.max_decisions,
                asks_for_a_key=config.api_key is not None,
            )
            return Response(told, content_type=CONTENT_TYPE)
        except Refusal as refusal:
            return _refused(refusal, uuid.uuid4().hex, None)

    for path in ROUTES:
        app.add_url_rule(path, view_func=score, methods=["POST"], provide_automatic_options=False)

    @app.errorhandler(HTTPException)
    def no_route(error: HTTPException) -> Response:
        response = _refused(_of_http(error), uuid.uuid4().hex, ROUTES.get(request.path))
        if isinstance(error, MethodNotAllowed):
            response.headers["Allow"] = _allowed(error)  # RFC 9110 asks for it with every 405
        return response

    return app


def _refused(refusal: Refusal, request_id: str, dialect: Dialect | None) -> Response:
    """dialect: as far as it is known. Only while a request is answered: it also tells who reads the error."""
    reader = error_dialect(dialect, request.path, request.headers.keys())
    answer = error_answer(refusal, request_id, reader)
    return Response(answer.body, answer.status, answer.headers)


def _internal() -> Refusal:
    return Refusal("internal", "the server failed on this request; its log names the request id")


def _allowed(error: MethodNotAllowed) -> str:
    return ", ".join(sorted(error.valid_methods or ()))


def _of_http(error: HTTPException) -> Refusal:
    if error.code == 404:
        posts = (f"POST {path}" for path in ROUTES)
        routes = ", ".join(["GET /ping", *posts, "GET /v1/models", f"GET {OPENAPI_PATH}", "GET /metrics"])
        return Refusal("not_found", f"no route {request.path[:200]!r}; there are {routes}")
    if isinstance(error, MethodNotAllowed):
        message = f"{request.method} {request.path}: not allowed; use {_allowed(error)}"
        return Refusal("method_not_allowed", message)
    if error.code is not None and error.code < 500:
        return Refusal("malformed_http", f"the request is not valid: {error.name}")
    return _internal()
