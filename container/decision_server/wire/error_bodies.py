"""A refusal → its status, bytes and headers, in the shape of the dialect that was spoken.

Ours (contract 8) where no other dialect is known yet. The retry hint stands in body and headers: InvokeEndpoint hides
headers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from decision_server.errors import Refusal
from decision_server.wire.dialects import Dialect
from decision_server.wire.openai_errors import openai_error
from decision_server.wire.systemone_errors import systemone_error, systemone_status

CONTENT_TYPE = "application/json"


@dataclass(frozen=True, kw_only=True)
class ErrorAnswer:
    status: int
    body: bytes
    headers: Mapping[str, str]


def error_answer(refusal: Refusal, request_id: str, dialect: Dialect | None) -> ErrorAnswer:
    """dialect: None while it is not known."""
    status = systemone_status(refusal) if dialect is Dialect.SYSTEM_ONE else refusal.status
    body = error_body(refusal, request_id, dialect)
    # a place or a value quoted from the body may hold anything; ASCII keeps it readable in every log and terminal
    encoded = json.dumps(body, allow_nan=False).encode("ascii")
    return ErrorAnswer(status=status, body=encoded, headers=_headers(refusal, request_id))


def error_body(refusal: Refusal, request_id: str, dialect: Dialect | None) -> dict[str, object]:
    """The same as a JSON value."""
    match dialect:
        case Dialect.SYSTEM_ONE:
            return systemone_error(refusal, request_id)
        case Dialect.OPENAI_DECISIONS | Dialect.CHAT:
            return openai_error(refusal, request_id)
        case _:
            return _own_error(refusal, request_id)


def _own_error(refusal: Refusal, request_id: str) -> dict[str, object]:
    body: dict[str, object] = {
        "error": refusal.message,
        "code": refusal.code,
        "field": refusal.field,
        "retryable": refusal.retryable,
        "request_id": request_id,
    }
    if refusal.retry_after_seconds is not None:
        body["retry_after_seconds"] = refusal.retry_after_seconds
    return body


def _headers(refusal: Refusal, request_id: str) -> dict[str, str]:
    headers = {
        "Content-Type": CONTENT_TYPE,
        "X-Request-Id": request_id,
        "X-Should-Retry": str(refusal.retryable).lower(),  # the `openai` package obeys it
    }
    if refusal.retry_after_seconds is not None:
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    return headers | ERROR_HEADERS.get(refusal.code, {})


ERROR_HEADERS = {"authentication_error": {"WWW-Authenticate": "Bearer"}}  # RFC 9110 asks for it with every 401
