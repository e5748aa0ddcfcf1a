"""One line of a bulk body → typed decisions; an answer or a refusal → one line (contract 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.wire.asked import Asked
from decision_server.wire.chat_bodies import ChatRequest
from decision_server.wire.dialects import ROUTES, Dialect, dialect_of
from decision_server.wire.error_bodies import error_body
from decision_server.wire.json_body import parse
from decision_server.wire.lines import Line
from decision_server.wire.model_names import ModelNames
from decision_server.wire.reading import read

CONTENT_TYPE = "application/jsonlines"
_MEDIA_TYPES = frozenset({CONTENT_TYPE, "application/x-jsonlines", "application/jsonl", "application/x-ndjson"})
_BARE = frozenset({"id", "state", "question", "options"})


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """A line that cannot be asked, and why. dialect: as far as it was known."""

    refusal: Refusal
    dialect: Dialect | None


def is_bulk(content_type: str | None) -> bool:
    return (content_type or "").split(";")[0].strip().lower() in _MEDIA_TYPES


def read_line(line: Line, *, route: str, max_bytes: int, max_decisions: int, names: ModelNames) -> Asked | BadLine:
    """A body of any dialect of decisions, or what a body has in `decision`."""
    dialect = ROUTES[route]
    try:
        if line.content is None:
            raise Refusal("body_too_large", f"the line has {line.size} bytes; at most {max_bytes} allowed in one")
        dialect, body = dialect_of(_whole(parse(line.content)), route)
        asked = read(dialect, body, max_decisions=max_decisions, names=names)
    except Refusal as refusal:
        return BadLine(refusal=refusal, dialect=dialect)
    match asked:
        case ChatRequest():
            one_by_one = Refusal(
                "unsupported_dialect", "messages: chats are not answered in bulk; send them one by one"
            )
            return BadLine(refusal=one_by_one, dialect=dialect)
        case _:
            return asked


def error_line(bad: BadLine, request_id: str, number: int) -> bytes:
    """The error object of the line's dialect, with the line's number."""
    body = error_body(bad.refusal, request_id, bad.dialect)
    match bad.dialect:
        case Dialect.SYSTEM_ONE:
            body["x_line"] = number
        case _:
            body["line"] = number
    return json.dumps(body, allow_nan=False).encode("ascii")


def state_of(asked: Asked) -> str:
    """Equal for lines about an equal state."""
    return json.dumps([decision.state for decision in asked.decisions[:1]], ensure_ascii=False)


def _whole(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping) and value.keys() >= _BARE:
        return {"decision": value}
    return value
