"""A refusal → a System One error (contract 4.3): 422 with a list of details where the body is at fault, else one."""

from __future__ import annotations

from decision_server.errors import OF_THE_BODY, Refusal


def systemone_status(refusal: Refusal) -> int:
    return 422 if refusal.code in OF_THE_BODY else refusal.status


def systemone_error(refusal: Refusal, request_id: str) -> dict[str, object]:
    extra: dict[str, object] = {"x_request_id": request_id}
    if refusal.retry_after_seconds is not None:
        extra["x_retry_after_seconds"] = refusal.retry_after_seconds
    if refusal.code in OF_THE_BODY:
        detail = {"loc": ["body", *(refusal.place or ())], "msg": refusal.message, "type": refusal.code}
        return {"detail": [detail], **extra}
    return {"detail": {"error_type": refusal.code, "message": refusal.message}, **extra}
