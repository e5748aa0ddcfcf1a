"""The whole document: routes, bodies and answers, with the limits and names of this very server (contract 1.6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

from decision_server.errors import CODES
from decision_server.openapi import chat, decisions, openai_decisions, system_one
from decision_server.openapi.json_schema import NUMBER, Schema, a_list, an_object, named, one_of
from decision_server.wire.bulk_lines import CONTENT_TYPE as LINES
from decision_server.wire.model_names import ModelNames

Content: TypeAlias = dict[str, Schema]  # by media type

PATH = "/openapi.json"
VERSION = "1"
_NOBODY_READS = frozenset({499})
_STATUSES = sorted({answered.status for answered in CODES.values()} - _NOBODY_READS)
_OWN = ["OneDecision", "SeveralDecisions"]
_RESULTS = ["OneResult", "SeveralResults"]
_ALL = [*_OWN, "SystemOneRequest", "OpenAIDecisionRequest", "ChatRequest"]
_ALL_ANSWERS = [*_RESULTS, "SystemOneResponse", "OpenAIDecision", "ChatCompletion"]
_EVENTS: Content = {"text/event-stream": {"schema": named("ChatEvent")}}
_BULK: Content = {LINES: {"schema": {"type": "string", "description": "A body, or a bare decision, a line."}}}
_BULK_ANSWERS: Content = {LINES: {"schema": {"type": "string", "description": "An answer or an error for each line."}}}
_ATTRIBUTES: Schema = {
    "name": "X-Amzn-SageMaker-Custom-Attributes",
    "in": "header",
    "description": "InvokeEndpoint's CustomAttributes, separated by commas. `route=/v1/systemone`, or another path of "
    "this document, names the route that is meant; other attributes pass unread.",
    "schema": {"type": "string"},
}
_ANY_ERROR = ["Error", "SystemOneError", "OpenAIError"]


def document(names: ModelNames, *, max_decisions: int, asks_for_a_key: bool) -> bytes:
    """JSON."""
    told: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Decision Endpoint",
            "version": VERSION,
            "description": "A probability for each option, straight from a model's logits. Text with a character that "
            "the model's vocabulary cannot spell is refused with the code `unspellable_text`; no schema here says "
            "which those are.",
        },
        "paths": _paths(),
        "components": {
            "schemas": {
                "ModelName": one_of(names.accepted),
                **decisions.schemas(max_decisions=max_decisions),
                **system_one.schemas(),
                **openai_decisions.schemas(),
                **chat.schemas(),
            }
        },
    }
    if asks_for_a_key:
        told["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        told["security"] = [{"key": []}]
    return json.dumps(told, separators=(",", ":")).encode("ascii")


def _paths() -> Schema:
    every = partial(_asked, _ALL, _ALL_ANSWERS, _ANY_ERROR, other_bodies=_BULK, other_answers=_EVENTS | _BULK_ANSWERS)
    health = an_object({"status": one_of(["ok", "loading", "draining", "failed"])})
    return {
        "/invocations": _with_header(every("Every dialect, told apart by its keys"), _ATTRIBUTES),
        "/v1/decisions": every("The same outside SageMaker"),
        "/v1/systemone": _asked(
            ["SystemOneRequest"],
            ["SystemOneResponse"],
            ["SystemOneError"],
            "System One",
            other_bodies=_BULK,
            other_answers=_BULK_ANSWERS,
        ),
        "/v1/chat/completions": _asked(
            ["ChatRequest"], ["ChatCompletion"], ["OpenAIError"], "Chat completions", other_answers=_EVENTS
        ),
        "/v1/models": _read("The names that requests may use", {"200": _json(_models()), **_errors(["OpenAIError"])}),
        "/ping": _read("Whether requests are answered", {"200": _json(health), "503": _json(health)}, open_=True),
        "/metrics": _read("Prometheus text", {"200": _text("text/plain")}, open_=True),
        PATH: _read("This document", {"200": _json({"type": "object"}), **_errors(["Error", "OpenAIError"])}),
    }


def _asked(
    bodies: Sequence[str],
    answers: Sequence[str],
    errors: Sequence[str],
    summary: str,
    *,
    other_bodies: Content | None = None,
    other_answers: Content | None = None,
) -> Schema:
    """Of JSON first; `other_…` by media type."""
    good = _json(_any(answers))
    good["content"].update(other_answers or {})
    asked = {"application/json": {"schema": _any(bodies)}, **(other_bodies or {})}
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": asked},
            "responses": {"200": good, **_errors(errors)},
        }
    }


def _with_header(path: Schema, header: Schema) -> Schema:
    return {method: {**told, "parameters": [header]} for method, told in path.items()}


def _read(summary: str, responses: Schema, *, open_: bool = False) -> Schema:
    """open_: to callers without the key."""
    return {"get": {"summary": summary, "responses": responses, **({"security": []} if open_ else {})}}


def _errors(names: Sequence[str]) -> Schema:
    statuses = [*_STATUSES, *([422] if "SystemOneError" in names else [])]
    return {str(status): _json(_any(names)) for status in statuses}


def _any(names: Sequence[str]) -> Schema:
    return named(names[0]) if len(names) == 1 else {"anyOf": [named(name) for name in names]}


def _json(schema: Schema) -> Schema:
    return {"description": "JSON", "content": {"application/json": {"schema": schema}}}


def _text(media_type: str) -> Schema:
    return {"description": "Text", "content": {media_type: {"schema": {"type": "string"}}}}


def _models() -> Schema:
    model = an_object(
        {"name": {"type": "string"}, "description": {"type": "string"}, "release_date": {"type": "string"}}
    )
    datum = an_object(
        {"id": {"type": "string"}, "object": {"const": "model"}, "created": NUMBER, "owned_by": {"type": "string"}}
    )
    return an_object({"object": {"const": "list"}, "models": a_list(model), "data": a_list(datum)})
