"""OpenAI Decisions as JSON Schema (contract 5)."""

from __future__ import annotations

from decision_server.openapi.json_schema import (
    NUMBER,
    PROBABILITY,
    TEXT,
    WHOLE,
    Schema,
    a_list,
    an_object,
    named,
    nullable,
    one_of,
)
from decision_server.openapi.wishes import OF_A_QUESTION, OF_A_REQUEST
from decision_server.wire.question_counts import MAX_QUESTIONS, OPTIONS

_ANYTHING: Schema = {}
_MARK = {"prompt_cache_breakpoint": _ANYTHING}
_STRING: Schema = {"type": "string"}  # maybe empty
_ASKED_TEXT = an_object({"type": one_of(["input_text"]), "text": TEXT}, _MARK)
_INPUT_TEXT = an_object({"type": one_of(["input_text"]), "text": _STRING}, _MARK)
_OUTPUT_TEXT = an_object({"type": one_of(["output_text"]), "text": _STRING}, _MARK)
_REFUSAL = an_object({"type": one_of(["refusal"]), "refusal": _STRING})
_INPUT_JSON = an_object(
    {"type": one_of(["input_json"]), "data": {"anyOf": [{"type": "object"}, a_list({"type": "object"})]}}
)
_SERVICE = {"id": _ANYTHING, "status": _ANYTHING}
_CALL = {"call_id": TEXT, "name": TEXT}
_OWNER = {"namespace": _ANYTHING}


def _content(text: Schema, *parts: Schema, least: int = 1) -> Schema:
    return {"anyOf": [text, a_list({"anyOf": list(parts)}, least=least)]}


def _message(role: str, *parts: Schema) -> Schema:
    more = {"type": one_of(["message"]), "phase": _ANYTHING}
    return an_object({"role": one_of([role]), "content": _content(_STRING, *parts)}, more)


def _output(kind: str) -> Schema:
    return an_object(
        {"type": one_of([kind]), "call_id": TEXT, "output": _content(_STRING, _INPUT_TEXT, least=0)},
        _SERVICE,
        description="Its call stands before it, with the same call_id.",
    )


def _question(kind: str, **own: Schema) -> Schema:
    required = {"type": one_of([kind]), "instructions": _content(TEXT, _ASKED_TEXT, _INPUT_JSON), **own}
    return an_object(required, {"name": nullable(TEXT), **OF_A_QUESTION})


def _described(field: str, value: Schema) -> Schema:
    described = an_object({field: value}, {"description": nullable(TEXT)})
    return a_list(described, least=OPTIONS.least, most=OPTIONS.most)


def schemas() -> dict[str, Schema]:
    said = {"anyOf": [TEXT, {"type": "boolean"}]}
    return {
        "OpenAIDecisionRequest": an_object(
            {
                "model": named("ModelName"),
                "input": {"anyOf": [TEXT, a_list(named("OpenAIInputItem"), least=1)]},
                "questions": a_list(
                    {
                        "anyOf": [
                            _question("predicate"),
                            _question("choice", choices=_described("value", said)),
                            _question("score", levels=_described("label", TEXT)),
                        ]
                    },
                    least=1,
                    most=MAX_QUESTIONS,
                ),
            },
            {
                **dict.fromkeys(("prompt_cache_key", "prompt_cache_options", "safety_identifier"), _ANYTHING),
                **OF_A_REQUEST,
            },
        ),
        "OpenAIInputItem": {
            "anyOf": [
                _message("user", _INPUT_TEXT, _INPUT_JSON),
                _message("developer", _INPUT_TEXT),
                _message("system", _INPUT_TEXT),
                _message("assistant", _OUTPUT_TEXT, _REFUSAL),
                an_object({"type": one_of(["function_call"]), **_CALL, "arguments": _STRING}, _OWNER | _SERVICE),
                an_object({"type": one_of(["custom_tool_call"]), **_CALL, "input": _STRING}, _OWNER | _SERVICE),
                _output("function_call_output"),
                _output("custom_tool_call_output"),
            ]
        },
        "OpenAIDecision": an_object(
            {"model": TEXT, "answers": a_list({"anyOf": _answers(said)}, least=1), "usage": {"type": "object"}}
        ),
        "OpenAIError": an_object(
            {
                "error": an_object(
                    {
                        "message": TEXT,
                        "type": one_of(["invalid_request_error", "authentication_error", "server_error"]),
                        "param": nullable(TEXT),
                        "code": TEXT,
                        "request_id": TEXT,
                    },
                    {"retry_after_seconds": NUMBER},
                )
            }
        ),
    }


def _answers(said: Schema) -> list[Schema]:
    name = {"name": nullable(TEXT)}
    confident = {"confidence": PROBABILITY}
    each = {"value": said, "probability": PROBABILITY}
    level = {"value": WHOLE, "label": TEXT, "probability": PROBABILITY}
    return [
        an_object({**name, "type": one_of(["predicate"]), "probability": PROBABILITY}, open_=True),
        an_object(
            {**name, "type": one_of(["choice"]), "choice": said, "probabilities": a_list(an_object(each)), **confident},
            open_=True,
        ),
        an_object(
            {
                **name,
                "type": one_of(["score"]),
                "score": NUMBER,
                "probabilities": a_list(an_object(level)),
                **confident,
            },
            open_=True,
        ),
    ]
