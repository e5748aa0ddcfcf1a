"""Chat completions as JSON Schema (contract 6). A field that is null counts as left out."""

from __future__ import annotations

from decision_server.openapi.json_schema import TEXT, WHOLE, Schema, a_list, an_object, named, nullable, one_of
from decision_server.wire import chat_bodies

_ANYTHING: Schema = {}
_TEXT_PART = an_object({"type": one_of(["text"]), "text": {"type": "string"}})
_STOP: Schema = {**TEXT, "maxLength": chat_bodies.MAX_STOP_CHARACTERS}


def _number(least: float, most: float) -> Schema:
    return {"type": "number", "minimum": least, "maximum": most}


def schemas() -> dict[str, Schema]:
    tokens = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
    read = {
        "model": named("ModelName"),
        "max_tokens": tokens,
        "max_completion_tokens": tokens,
        "temperature": {"anyOf": [{"const": 0}, _number(chat_bodies.MIN_TEMPERATURE, chat_bodies.MAX_TEMPERATURE)]},
        "top_p": _number(0, 1),
        "frequency_penalty": _number(-2, 2),
        "presence_penalty": _number(-2, 2),
        "seed": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        "stop": {"anyOf": [_STOP, a_list(_STOP, most=chat_bodies.MAX_STOPS)]},
        "stream": {"type": "boolean"},
        "stream_options": an_object(
            {}, {"include_usage": nullable({"type": "boolean"}), "include_obfuscation": nullable(one_of([False]))}
        ),
    }
    only = {name: one_of(values) for name, values in chat_bodies.ONLY.items()}
    optional = {name: nullable(schema) for name, schema in (read | only).items()}
    optional |= dict.fromkeys(chat_bodies.NOTHING_TO_DO, _ANYTHING)
    return {
        "ChatRequest": an_object(
            {"messages": a_list(named("ChatMessage"), least=1, most=chat_bodies.MAX_MESSAGES)},
            optional,
            description="stream_options goes with `stream` true alone; of the two numbers of tokens one is enough.",
            anyOf=[
                {"properties": {"stream_options": {"type": "null"}}},
                {"properties": {"stream": {"const": True}}, "required": ["stream"]},
            ],
        ),
        "ChatMessage": an_object(
            {
                "role": one_of(list(chat_bodies.ROLES)),
                "content": {"anyOf": [{"type": "string"}, a_list(_TEXT_PART)]},
            },
        ),
        "ChatCompletion": an_object(
            {
                "id": TEXT,
                "object": {"const": "chat.completion"},
                "created": WHOLE,
                "model": TEXT,
                "system_fingerprint": TEXT,
                "choices": a_list(
                    an_object(
                        {
                            "index": {"const": 0},
                            "message": an_object(
                                {
                                    "role": {"const": "assistant"},
                                    "content": {"type": "string"},
                                    "refusal": {"type": "null"},
                                }
                            ),
                            "logprobs": {"type": "null"},
                            "finish_reason": one_of(["stop", "length"]),
                        }
                    ),
                    least=1,
                    most=1,
                ),
                "usage": an_object(dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), WHOLE)),
            },
            {"x_cut_by": {"const": "deadline"}},
        ),
        "ChatEvent": {
            "type": "object",
            "description": "One of the events: a `chat.completion.chunk` as JSON, `[DONE]`, or a fault with `error`.",
            "properties": {"data": TEXT},
            "required": ["data"],
        },
    }
