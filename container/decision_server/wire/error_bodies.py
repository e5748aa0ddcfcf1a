"""A refusal → its bytes and headers (contract 8). The retry hint stands in both: InvokeEndpoint hides headers."""

from __future__ import annotations

import json

from decision_server.errors import Refusal

CONTENT_TYPE = "application/json"


def error_body(refusal: Refusal, request_id: str) -> bytes:
    body: dict[str, object] = {
        "error": refusal.message,
        "code": refusal.code,
        "field": refusal.field,
        "retryable": refusal.retryable,
        "request_id": request_id,
    }
    if refusal.retry_after_seconds is not None:
        body["retry_after_seconds"] = refusal.retry_after_seconds
    # a place or a value quoted from the body may hold anything; ASCII keeps it readable in every log and terminal
    return json.dumps(body, allow_nan=False).encode("ascii")


def error_headers(refusal: Refusal, request_id: str) -> dict[str, str]:
    headers = {"Content-Type": CONTENT_TYPE, "X-Request-Id": request_id}
    if refusal.retry_after_seconds is not None:
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    return headers
