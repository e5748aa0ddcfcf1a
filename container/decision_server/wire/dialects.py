"""Which dialect a body of `/invocations` speaks, told by its keys and media type (contract 2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.wire.shapes import type_name


class Dialect(Enum):
    """The dialects this server answers."""

    DECISION = "decision"
    DECISIONS = "decisions"


_OF_OTHERS = {  # the telling key of a dialect that this server does not answer → its name
    "questions": "System One or OpenAI Decisions",
    "messages": "chat completions",
}
_JSON_LIKE = frozenset({"application/json", "text/json", "application/octet-stream"})


def check_media_type(content_type: str | None) -> None:
    """Passes JSON types, whatever their case and parameters, octet streams and no type at all. Raises Refusal (415)."""
    media_type = (content_type or "").split(";")[0].strip().lower()
    if not media_type or media_type in _JSON_LIKE:
        return
    if media_type.startswith("application/") and media_type.endswith("+json"):
        return
    hint = "bulk requests are not supported by this server; " if media_type == "application/jsonlines" else ""
    raise Refusal("unsupported_media_type", f"Content-Type: {media_type[:100]!r}; {hint}send application/json")


def check_content_encoding(content_encoding: str | None) -> None:
    encoding = (content_encoding or "identity").strip().lower()
    if encoding != "identity":
        raise Refusal(
            "unsupported_media_type", f"Content-Encoding: {encoding[:100]!r}; send the body without a content encoding"
        )


def dialect_of(value: JsonValue) -> tuple[Dialect, Mapping[str, JsonValue]]:
    """The dialect and the body as an object. Raises Refusal that names the keys seen."""
    if not isinstance(value, Mapping):
        raise Refusal(
            "wrong_type", f"the body is {type_name(value)}; an object with `decision` or `decisions` is needed"
        )
    own = [dialect for dialect in Dialect if dialect.value in value]
    others = [key for key in _OF_OTHERS if key in value]
    if len(own) == 1 and not others:
        return own[0], value
    if len(others) == 1 and not own:
        name = _OF_OTHERS[others[0]]
        raise Refusal(
            "unsupported_dialect",
            f"the body has the key {others[0]!r} of {name}, which is not supported by this server; "
            "send `decision` or `decisions`",
            field=others[0],
        )
    keys = ", ".join(repr(key[:40]) for key in list(value)[:10]) or "no keys"
    told = "more than one dialect" if own or others else "no known dialect"
    raise Refusal("unknown_dialect", f"the body has {keys}: {told}; send exactly one of `decision` and `decisions`")
