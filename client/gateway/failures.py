"""What the gateway itself has to say in place of an answer, in the shape of the dialect that the client speaks."""

from __future__ import annotations

import json
from typing import NamedTuple

from client.gateway.exchange import JSON, Request, Whole, json_object


class Kind(NamedTuple):
    """again: whether the gateway asks once more by itself."""

    status: int
    again: bool


KINDS = {
    # the request
    "bad_encoding": Kind(400, False),
    "refused_by_sagemaker": Kind(400, False),
    "not_found": Kind(404, False),
    "method_not_allowed": Kind(405, False),
    "body_too_large": Kind(413, False),
    "unsupported_media_type": Kind(415, False),
    # the way to the endpoint; 4xx where only a person can help, so that clients do not ask again
    "aws_credentials": Kind(403, False),
    "access_denied": Kind(403, False),
    "not_for_browsers": Kind(403, False),
    "endpoint_not_found": Kind(404, False),
    "unreachable": Kind(502, False),
    # load and life
    "throttled": Kind(429, True),
    "unavailable": Kind(503, True),
    "draining": Kind(503, False),
    "deadline_exceeded": Kind(504, False),
    "model_timeout": Kind(504, False),
    "stream_cut": Kind(502, False),
    "internal": Kind(500, False),
}


class Failure(Exception):
    """No answer of the server. code: a key of KINDS. The text is what a client reads."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.status, self.again = KINDS[code]


class StreamCut(Failure):
    """An answer that began and does not end."""

    def __init__(self, message: str) -> None:
        super().__init__("stream_cut", message)


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
    retryable = failure.again or failure.code == "draining"
    return {"error": failure.message, "code": failure.code, "field": None, "retryable": retryable}


def _openai(failure: Failure) -> dict[str, object]:
    kind = "invalid_request_error" if failure.status < 500 else "server_error"
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code}}


def _system_one(failure: Failure) -> dict[str, object]:
    return {"detail": {"error_type": failure.code, "message": failure.message}}


def _bytes(body: dict[str, object]) -> bytes:
    return json.dumps(body).encode("ascii")
