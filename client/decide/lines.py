"""An answer or an error as one line of JSON, for programs. Pure."""

from __future__ import annotations

import json
from dataclasses import fields

from client.decisions import Answer, DecisionError

_FIELDS = tuple(each.name for each in fields(Answer) if each.name != "raw")


def answer_line(name: str, answer: Answer, *, line: int | None) -> str:
    """raw: the answer as the server gave it, with what its type alone has."""
    told = {"id": name, "line": line, "top": answer.top, "top_probability": answer.top_probability}
    return _json(told | {field: getattr(answer, field) for field in _FIELDS} | {"raw": answer.raw})


def error_line(error: DecisionError, *, line: int | None) -> str:
    told = {"error": error.message, "code": error.code, "field": error.field, "status": error.status}
    return _json(told | {"retryable": error.retryable, "request_id": error.request_id, "line": line})


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False)
