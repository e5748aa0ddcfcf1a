"""What passes between a caller and a server: a request, and its answer as a whole or as a stream. Values only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

JSON = "application/json"
JSON_LINES = frozenset(
    {"application/jsonlines", "application/x-jsonlines", "application/jsonl", "application/x-ndjson"}
)
EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, kw_only=True)
class Request:
    """headers: lower-case names, as the client sent them."""

    method: str
    route: str
    body: bytes
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    @property
    def wants_stream(self) -> bool:
        """Whether the answer comes in parts: a chat with `stream`, or bulk."""
        return self.media_type in JSON_LINES or (b'"stream"' in self.body and _member(self.body, "stream") is True)


@dataclass(frozen=True, kw_only=True)
class Whole:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """Of status 200. parts: raises StreamCut, and is closed by whoever stops reading it early."""

    parts: Iterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = "Whole | Streamed"


class Upstream(Protocol):
    """Where requests go. Safe to use from many threads at once."""

    @property
    def name(self) -> str:
        """For people."""

    def send(self, request: Request, *, timeout: float) -> Answer:
        """One try, in `timeout` seconds to the answer's beginning. Raises Failure where the server gave none."""

    def close(self) -> None:
        """Gives up its connections. Nothing is sent afterwards."""


def json_object(body: bytes) -> Mapping[str, object]:
    """Empty where the body is no JSON object: whether it may be asked is the server's to say."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _member(body: bytes, name: str) -> object:
    return json_object(body).get(name)
