"""Which dialect a body speaks, told by its route and its keys (contract 2). Media types too."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.wire.shapes import as_object


class Dialect(Enum):
    """The dialects this server answers. Values stand in the log."""

    DECISION = "decision"
    DECISIONS = "decisions"
    SYSTEM_ONE = "systemone"
    OPENAI_DECISIONS = "openai-decisions"
    CHAT = "chat"


# The routes, and the one dialect of a route that has only one; elsewhere the keys tell.
ROUTES: dict[str, Dialect | None] = {
    "/invocations": None,
    "/v1/decisions": None,
    "/v1/systemone": Dialect.SYSTEM_ONE,
    "/v1/chat/completions": Dialect.CHAT,
}

_TELLING = ("decision", "decisions", "questions", "messages")
_NEEDED = (
    "send exactly one of `decision`, `decisions`, `questions` as an object with `state` (System One), `questions` "
    "as a list with `input` (OpenAI Decisions) and `messages` (chat completions)"
)
_JSON_LIKE = frozenset({"application/json", "text/json", "application/octet-stream"})


def answers_lines(route: str) -> bool:
    """Whether a body in JSON lines may come to it: chats are not answered in bulk."""
    return ROUTES[route] is not Dialect.CHAT


def check_media_type(content_type: str | None, route: str) -> None:
    """Passes JSON types, whatever their case and parameters, octet streams and no type at all. Raises Refusal (415)."""
    media_type = (content_type or "").split(";")[0].strip().lower()
    if not media_type or media_type in _JSON_LIKE:
        return
    if media_type.startswith("application/") and media_type.endswith("+json"):
        return
    lines = ", or application/jsonlines in bulk" if answers_lines(route) else "; chats are not answered in bulk"
    raise Refusal("unsupported_media_type", f"Content-Type: {media_type[:100]!r}; send application/json{lines}")


def dialect_of(value: JsonValue, route: str) -> tuple[Dialect, Mapping[str, JsonValue]]:
    """The dialect and the body as an object. route: a key of ROUTES. Raises Refusal that names the keys seen."""
    body = as_object(value, ())
    if (only := ROUTES[route]) is not None:
        return only, body
    told = [key for key in _TELLING if key in body]
    match told:
        case ["decision"]:
            return Dialect.DECISION, body
        case ["decisions"]:
            return Dialect.DECISIONS, body
        case ["questions"]:
            return _of_questions(body), body
        case [] if "input" in body:
            return Dialect.OPENAI_DECISIONS, body
        case ["messages"]:
            return Dialect.CHAT, body
    keys = ", ".join(repr(key[:40]) for key in list(body)[:10]) or "no keys"
    problem = "more than one dialect" if told else "no known dialect"
    raise Refusal("unknown_dialect", f"the body has {keys}: {problem}; {_NEEDED}")


def _of_questions(body: Mapping[str, JsonValue]) -> Dialect:
    """Of a body with `questions`: its type tells, and where it is neither, what stands beside it."""
    questions = body["questions"]
    if isinstance(questions, Mapping):
        return Dialect.SYSTEM_ONE
    if isinstance(questions, list) or "state" not in body:
        return Dialect.OPENAI_DECISIONS
    return Dialect.SYSTEM_ONE
