"""The checks that every dialect makes of a JSON value: its type, its fields, its length. Errors name the place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.wire.json_body import shown


def type_name(value: JsonValue) -> str:
    """The JSON type in words, as an error message says it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    return "an object" if isinstance(value, Mapping) else "a list"


def as_object(value: JsonValue, place: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise _wrong_type(place, value, "an object")
    return value


def as_list(value: JsonValue, place: str) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong_type(place, value, "a list")
    return value


def as_text(value: JsonValue, place: str) -> str:
    """A non-empty string."""
    if not isinstance(value, str):
        raise _wrong_type(place, value, "a string")
    if not value:
        raise Refusal("bad_value", f"{place}: an empty string; give at least one character", field=place)
    return value


def fields(
    given: Mapping[str, JsonValue], place: str, *, required: Collection[str], optional: Collection[str] = ()
) -> None:
    """Refuses a field that is missing and every field that is not known, by name."""
    for name in given:
        if name not in required and name not in optional:
            known = ", ".join([*required, *optional])
            raise Refusal(
                "unknown_field",
                f"{place or 'the body'}: unknown field {shown(name)}; known are {known}; remove it or correct its name",
                field=inside(place, name[:60]),
            )
    for name in required:
        if name not in given:
            missing = inside(place, name)
            raise Refusal("missing_field", f"{missing}: missing; it is required", field=missing)


def inside(place: str, name: str) -> str:
    """The place of a field of the object at `place`; the body itself is the empty place."""
    return f"{place}.{name}" if place else name


def unique(names: Sequence[str], place: str, of: str) -> None:
    """Refuses a name that stands twice in `names`, the ids of the list at `place`. Compared by code point."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            raise Refusal(
                "bad_value",
                f"{place}[{index}].id: {shown(name)} is also the id of {place}[{first[name]}]; {of} ids must be unique",
                field=f"{place}[{index}].id",
            )
        first[name] = index


def count(number: int, place: str, *, least: int, most: int, context: str = "") -> None:
    if not least <= number <= most:
        raise Refusal("bad_value", f"{place}: {number} given{context}; {least} to {most} allowed", field=place)


def _wrong_type(place: str, value: JsonValue, wanted: str) -> Refusal:
    return Refusal("wrong_type", f"{place}: {type_name(value)} ({shown(value)}); {wanted} is needed", field=place)
