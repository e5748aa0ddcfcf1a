"""The checks that every dialect makes of a JSON value: its type, its fields, its length. Errors name the place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from decision_server.decisions import JsonValue, State
from decision_server.errors import Refusal
from decision_server.places import Place, named, spelled
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


def as_object(value: JsonValue, place: Place) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise _wrong_type(place, value, "an object")
    return value


def as_list(value: JsonValue, place: Place) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong_type(place, value, "a list")
    return value


def as_string(value: JsonValue, place: Place) -> str:
    """A string, empty or not."""
    if not isinstance(value, str):
        raise _wrong_type(place, value, "a string")
    return value


def as_text(value: JsonValue, place: Place) -> str:
    """A non-empty string."""
    text = as_string(value, place)
    if not text:
        raise Refusal("bad_value", f"{spelled(place)}: an empty string; give at least one character", place=place)
    return text


def as_state(value: JsonValue, place: Place) -> State:
    """The evidence: a string, an object or a list, not empty."""
    given = _structure(value, place)
    if not given:
        raise Refusal(
            "bad_value",
            f"{named(place)}: {type_name(value)} that is empty; give the evidence to decide on",
            place=place,
        )
    return given


def as_content(value: JsonValue, place: Place) -> State | None:
    """Instructions or a description: text, or JSON where a caller has structure. None where null or empty: nothing is
    said there."""
    return None if value is None else _structure(value, place) or None


def has_fields(given: Mapping[str, JsonValue], place: Place, names: Collection[str]) -> None:
    """Refuses a field that is missing, by name."""
    for name in names:
        if name not in given:
            missing = (*place, name)
            raise Refusal("missing_field", f"{spelled(missing)}: missing; it is required", place=missing)


def fields(
    given: Mapping[str, JsonValue], place: Place, *, required: Collection[str], optional: Collection[str] = ()
) -> None:
    """Refuses a field that is missing and every field that is not known, by name."""
    for name in given:
        if name not in required and name not in optional:
            known = ", ".join([*required, *optional])
            raise Refusal(
                "unknown_field",
                f"{named(place)}: unknown field {shown(name)}; known are {known}; remove it or correct its name",
                place=(*place, name),
            )
    has_fields(given, place, required)


def unique(names: Sequence[str], place: Place, of: str) -> None:
    """Refuses a name that stands twice in `names`, the ids of the list at `place`. Compared by code point."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            raise Refusal(
                "bad_value",
                f"{spelled((*place, index, 'id'))}: {shown(name)} is also the id of {spelled((*place, first[name]))}; "
                f"{of} ids must be unique",
                place=(*place, index, "id"),
            )
        first[name] = index


def count(number: int, place: Place, *, least: int, most: int, context: str = "") -> None:
    if not least <= number <= most:
        raise Refusal("bad_value", f"{spelled(place)}: {number} given{context}; {least} to {most} allowed", place=place)


def _structure(value: JsonValue, place: Place) -> State:
    if value is None or isinstance(value, (bool, int, float)):
        raise _wrong_type(place, value, "a string, an object or a list")
    return value


def _wrong_type(place: Place, value: JsonValue, wanted: str) -> Refusal:
    return Refusal(
        "wrong_type", f"{named(place)}: {type_name(value)} ({shown(value)}); {wanted} is needed", place=place
    )
