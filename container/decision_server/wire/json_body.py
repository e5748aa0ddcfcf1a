"""Bytes → JSON value, strictly (contract 8). Knows JSON and nothing of decisions.

Refused: what is not UTF-8 or not JSON, a repeated key, NaN, Infinity and numbers that overflow to it, more than
64 levels, a lone surrogate, a leading byte order mark. Kept as sent: astral characters, NUL, a byte order mark inside
a string.
"""

from __future__ import annotations

import json
import math
import re

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.places import Place, named

MAX_DEPTH = 64
MAX_INTEGER_DIGITS = 308  # as many as the largest float has; longer ones would not survive most JSON readers

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"?')
_NO_BRACKET = re.compile(rb"[^\[\]{}]+")


class _RepeatedKey(dict[str, JsonValue]):
    """An object in which `key` stood twice. Refused by `_check`, which knows the place."""

    key: str


def parse(body: bytes) -> JsonValue:
    """The value that `body` spells. Raises Refusal."""
    _check_depth(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(
            "not_json", f"the body is not UTF-8: byte {error.start} cannot be read; send UTF-8 JSON"
        ) from error
    if text.startswith("\ufeff"):
        raise Refusal("not_json", "the body begins with a byte order mark; send the JSON without it")
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Refusal("not_json", f"the body is not JSON: {error.msg} at {place}") from error
    _check(value, ())
    return value


def _check_depth(body: bytes) -> None:
    """Refuses deep nesting before the recursive parser meets it, in time linear in the body."""
    brackets = _NO_BRACKET.sub(b"", _STRING.sub(b"", _ESCAPE.sub(b"", body)))
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise Refusal("too_deep", f"the body nests deeper than {MAX_DEPTH} levels; flatten it")


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    built = dict(pairs)
    if len(built) == len(pairs):
        return built
    seen: set[str] = set()
    marked = _RepeatedKey(built)
    marked.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return marked


def _integer(digits: str) -> int:
    if len(digits) > MAX_INTEGER_DIGITS:
        raise Refusal(
            "bad_value",
            f"an integer of {len(digits)} digits; at most {MAX_INTEGER_DIGITS} allowed; send it as a string",
        )
    return int(digits)


def _check(value: JsonValue, place: Place) -> None:
    """Refuses what JSON's grammar lets through. Recursion is bounded by MAX_DEPTH."""
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Refusal("not_finite", f"{named(place)}: {value}; only finite numbers are allowed", place=place)
    elif isinstance(value, dict):
        if isinstance(value, _RepeatedKey):
            raise Refusal(
                "repeated_key",
                f"{named(place)}: the key {shown(value.key)} stands more than once; send each key once",
                place=place,
            )
        for key, inner in value.items():
            _check_text(key, place, of="a key of ")
            _check(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check(inner, (*place, index))


def _check_text(text: str, place: Place, *, of: str = "") -> None:
    if text.isascii():
        return
    for position, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            raise Refusal(
                "lone_surrogate",
                f"{of}{named(place)}: lone surrogate U+{ord(character):04X} at {position}; send valid Unicode",
                place=place,
            )


def shown(value: JsonValue, limit: int = 60) -> str:
    """A value as an error message quotes it: JSON, cut to a readable length. Only for messages, never for data."""
    text = json.dumps(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
