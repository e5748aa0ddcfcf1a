"""The few forms of JSON Schema that the dialects' modules are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from decision_server.decisions import JsonValue

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "number"}
PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
THRESHOLD: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
WHOLE: Schema = {"type": "integer", "minimum": 0}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
STATE: Schema = {
    "description": "Text, an object or a list, not empty.",
    "anyOf": [TEXT, {"type": "object", "minProperties": 1}, {"type": "array", "minItems": 1}],
}


def an_object(
    required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, *, open_: bool = False, **more: Any
) -> Schema:
    """open_: whether fields that are not listed are allowed."""
    properties = {**required, **(optional or {})}
    told: Schema = {"type": "object", "properties": properties, "required": list(required), **more}
    return told if open_ else {**told, "additionalProperties": False}


def a_list(items: Schema, *, least: int = 0, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, "minItems": least, **({} if most is None else {"maxItems": most})}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(values: Sequence[JsonValue]) -> Schema:
    return {"enum": list(values)}


def named(name: str) -> Schema:
    """A schema of the document's components."""
    return {"$ref": f"#/components/schemas/{name}"}
