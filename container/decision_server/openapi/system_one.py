"""System One as JSON Schema (contract 4). Fields that are not listed are allowed: in answers they begin with `x_`."""

from __future__ import annotations

from decision_server.openapi.json_schema import (
    NUMBER,
    PROBABILITY,
    STATE,
    TEXT,
    WHOLE,
    Schema,
    a_list,
    an_object,
    named,
    one_of,
)
from decision_server.openapi.wishes import OF_A_QUESTION, OF_A_REQUEST
from decision_server.wire.question_counts import LEVELS, MAX_QUESTIONS, OPTIONS

_ANY: Schema = {"description": "Text, an object or a list; nothing is said where empty or null."} | {
    "type": ["string", "object", "array", "null"]
}
_NULL: Schema = {"type": "null"}
_NOUL: Schema = {
    "type": "object",
    "description": "Yes or no. Instructions, or what counts as one of the two, must be said.",
    "properties": {
        "type": {"const": "noul"},
        "instructions": _ANY,
        "criteria": {"anyOf": [_NULL, an_object({}, {"true": _ANY, "false": _ANY})]},
        **OF_A_QUESTION,
    },
    "required": ["type"],
    "anyOf": [
        {"properties": {"instructions": STATE}, "required": ["instructions"]},
        {"properties": {"criteria": an_object({"true": STATE}, open_=True)}, "required": ["criteria"]},
        {"properties": {"criteria": an_object({"false": STATE}, open_=True)}, "required": ["criteria"]},
    ],
}
_CHOICE = an_object(
    {
        "type": {"const": "choice"},
        "criteria": {
            "type": "object",
            "minProperties": OPTIONS.least,
            "maxProperties": OPTIONS.most,
            "propertyNames": {"minLength": 1},
            "additionalProperties": _ANY,
        },
    },
    {"instructions": _ANY, **OF_A_QUESTION},
    open_=True,
)
_SCORE = an_object(
    {"type": {"const": "score"}, "criteria": a_list(STATE, least=LEVELS.least, most=LEVELS.most)},
    {"instructions": _ANY, **OF_A_QUESTION},
    open_=True,
)
_BY_NAME: Schema = {"type": "object", "additionalProperties": PROBABILITY}


def schemas() -> dict[str, Schema]:
    return {
        "SystemOneRequest": an_object(
            {
                "model": named("ModelName"),
                "state": STATE,
                "questions": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": MAX_QUESTIONS,
                    "propertyNames": {"minLength": 1},
                    "additionalProperties": {"anyOf": [_NOUL, _CHOICE, _SCORE]},
                },
            },
            {"assets": {**_NULL, "description": "This model reads no images."}, **OF_A_REQUEST},
            open_=True,
        ),
        "SystemOneResponse": an_object(
            {
                "model": TEXT,
                "answers": {"type": "object", "additionalProperties": {"anyOf": _answers()}},
                "usage": an_object({"input_tokens": WHOLE, "output_tokens": {"const": 0}}),
            }
        ),
        "SystemOneError": an_object(
            {
                "detail": {
                    "anyOf": [
                        a_list(
                            an_object({"loc": a_list({"type": ["string", "integer"]}), "msg": TEXT, "type": TEXT}),
                            least=1,
                        ),
                        an_object({"error_type": TEXT, "message": TEXT}),
                    ]
                }
            },
            {"x_request_id": TEXT, "x_retry_after_seconds": NUMBER},
        ),
    }


def _answers() -> list[Schema]:
    return [
        an_object({"type": one_of(["noul"]), "noul": PROBABILITY}, open_=True),
        an_object(
            {"type": one_of(["choice"]), "choice": TEXT, "probabilities": _BY_NAME, "confidence": PROBABILITY},
            open_=True,
        ),
        an_object(
            {
                "type": one_of(["score"]),
                "score": {"type": "number", "minimum": 0},
                "legend": {"type": "object", "additionalProperties": STATE},
                "probabilities": _BY_NAME,
                "confidence": PROBABILITY,
            },
            open_=True,
        ),
    ]
