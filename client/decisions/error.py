"""Why there is no answer: what the server said, in the shape of either dialect, or what happened on the way to it."""

from __future__ import annotations

from collections.abc import Mapping

from client.transport.exchange import Whole, json_object
from client.transport.failures import Failure
from client.transport.retrying import PASSING

_LATER = frozenset({"deadline_exceeded", "draining", "not_connected"})  # failures of the way that may pass
_SHOWN = 300


class DecisionError(Exception):
    """After all tries inside the deadline. code: of the server (docs/server.md) or of the way (docs/client.md).

    field: the place in what was asked. status: of HTTP, None where no server answered. retryable: whether the same may
    be answered later.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        field: str | None = None,
        status: int | None = None,
        retryable: bool = False,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field
        self.status, self.retryable, self.request_id = status, retryable, request_id


def of_failure(failure: Failure) -> DecisionError:
    retryable = failure.tries is None or failure.code in _LATER
    return DecisionError(failure.code, failure.message, retryable=retryable)


def of_answer(answer: Whole) -> DecisionError:
    """answer: any of another status than 200."""
    body = json_object(answer.body)
    error, detail = body.get("error"), body.get("detail")
    first = detail[0] if isinstance(detail, list) and detail else None
    request_id = _text(body, "request_id") or _text(body, "x_request_id") or answer.headers.get("X-Request-Id")
    said = body.get("retryable")
    passing = answer.status in PASSING and said is not False  # and was asked again, as long as there was time
    later = said is True or "x_retry_after_seconds" in body or passing
    code: str | None
    message: str | None
    field: str | None
    if isinstance(error, str):
        code, message, field = _text(body, "code"), error, _text(body, "field")
    elif isinstance(error, dict):
        code, message, field = _text(error, "code"), _text(error, "message"), _text(error, "param")
    elif isinstance(detail, dict):
        code, message, field = _text(detail, "error_type"), _text(detail, "message"), None
    elif isinstance(first, dict):
        code, message, field = _text(first, "type"), _text(first, "msg"), _place(first.get("loc"))
    else:
        code, message, field = None, None, None
    return DecisionError(
        code or "not_understood",
        message or f"status {answer.status}, and no error that a server of this kind would send: {_start(answer.body)}",
        field=field,
        status=answer.status,
        retryable=later,
        request_id=request_id,
    )


def not_understood(why: str) -> DecisionError:
    """An answer of status 200 that is none."""
    return DecisionError(
        "not_understood", f"the answer is none that a server of this kind would send: {why}", status=200
    )


def closed() -> DecisionError:
    return DecisionError("closed", "this client was closed, and asks no more. Remedy: ask before that, or open another")


def _place(loc: object) -> str | None:
    """["body", "questions", "a", "criteria", 1] → questions.a.criteria[1]"""
    if not isinstance(loc, list):
        return None
    steps = loc[1:] if loc[:1] == ["body"] else loc
    spelled = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return spelled.removeprefix(".") or None


def _text(table: Mapping[str, object], name: str) -> str | None:
    value = table.get(name)
    return value if isinstance(value, str) else None


def _start(body: bytes) -> str:
    text = body[: 4 * _SHOWN].decode("utf-8", "replace")
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r} …"
