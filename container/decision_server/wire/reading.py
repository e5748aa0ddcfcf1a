"""Body → typed request, by dialect. The one place that knows which module reads which."""

from __future__ import annotations

from collections.abc import Mapping

from decision_server.decisions import JsonValue
from decision_server.wire import chat_bodies, decision_bodies, openai_bodies, systemone_bodies
from decision_server.wire.asked import Asked
from decision_server.wire.chat_bodies import ChatRequest
from decision_server.wire.dialects import Dialect
from decision_server.wire.model_names import ModelNames


def read(
    dialect: Dialect, body: Mapping[str, JsonValue], *, max_decisions: int, names: ModelNames
) -> Asked | ChatRequest:
    """max_decisions: of our own dialect. Raises Refusal."""
    match dialect:
        case Dialect.DECISION:
            return decision_bodies.read_one(body)
        case Dialect.DECISIONS:
            return decision_bodies.read_several(body, max_decisions=max_decisions)
        case Dialect.SYSTEM_ONE:
            return systemone_bodies.read(body, names)
        case Dialect.OPENAI_DECISIONS:
            return openai_bodies.read(body, names)
        case Dialect.CHAT:
            return chat_bodies.read(body, names)
