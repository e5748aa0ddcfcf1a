"""What the gateway itself has to say in place of an answer, in the shape of the dialect that the client speaks."""

from __future__ import annotations

import json

from client.transport.exchange import JSON, Request, Whole, json_object
from client.transport.failures import Failure


def as_answer(failure: Failure, request: Request) -> Whole:
    headers = {"Content-Type": JSON, "X-Should-Retry": "false"}  # the `openai` package obeys it
    return Whole(status=failure.status, body=_bytes(_body(failure, request)), headers=headers)


def as_event(failure: Failure) -> bytes:
    """The end of a stream of server-sent events, as the `openai` package understands it."""
    return b"data: " + _bytes(_openai(failure)) + b"\n\n"


def _body(failure: Failure, request: Request) -> dict[str, object]:
    match request.route:
        case "/v1/systemone":
            return _system_one(failure)
        case "/v1/chat/completions":
            return _openai(failure)
    told = json_object(request.body)
    if "messages" in told or isinstance(told.get("questions"), list):
        return _openai(failure)
    if "questions" in told:
        return _system_one(failure)
    retryable = failure.tries is None or failure.code == "draining"
    return {"error": failure.message, "code": failure.code, "field": None, "retryable": retryable}


def _openai(failure: Failure) -> dict[str, object]:
    kind = "invalid_request_error" if failure.status < 500 else "server_error"
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code}}


def _system_one(failure: Failure) -> dict[str, object]:
    return {"detail": {"error_type": failure.code, "message": failure.message}}


def _bytes(body: dict[str, object]) -> bytes:
    return json.dumps(body).encode("ascii")
