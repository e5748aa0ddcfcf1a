"""A refusal → the error object that the `openai` package reads (contract 5, 6)."""

from __future__ import annotations

from decision_server.errors import Refusal


def openai_error(refusal: Refusal, request_id: str) -> dict[str, object]:
    """`type` says whose fault it is, `code` and `param` what and where."""
    error: dict[str, object] = {
        "message": refusal.message,
        "type": _type(refusal),
        "param": refusal.field,
        "code": refusal.code,
        "request_id": request_id,
    }
    if refusal.retry_after_seconds is not None:
        error["retry_after_seconds"] = refusal.retry_after_seconds
    return {"error": error}


def _type(refusal: Refusal) -> str:
    if refusal.status == 401:
        return "authentication_error"
    return "invalid_request_error" if refusal.status < 500 else "server_error"
