"""Bytes → typed request, as the routes do it."""

from __future__ import annotations

from decision_server.wire.asked import Asked
from decision_server.wire.chat_bodies import ChatRequest
from decision_server.wire.dialects import dialect_of
from decision_server.wire.json_body import parse
from decision_server.wire.model_names import ModelNames
from decision_server.wire.reading import read

NAMES = ModelNames(name="tiny", aliases=("small",))


def read_bytes(body: bytes, *, route: str = "/invocations", max_decisions: int = 64) -> Asked:
    """Raises Refusal."""
    dialect, value = dialect_of(parse(body), route)
    asked = read(dialect, value, max_decisions=max_decisions, names=NAMES)
    assert not isinstance(asked, ChatRequest)
    return asked
