"""Numbers and flags in a body, with their limits. Errors name the place."""

from __future__ import annotations

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.places import Place, spelled
from decision_server.wire.json_body import shown
from decision_server.wire.shapes import type_name


def as_number(value: JsonValue, place: Place, *, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(place, value, "a number")
    return float(_within(value, place, least, most))


def as_threshold(value: JsonValue, place: Place) -> float:
    """A probability to compare with. 0 is refused: nothing is below it, so it would say nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(place, value, "a number")
    if not 0 < value <= 1:
        raise Refusal(
            "bad_value",
            f"{spelled(place)}: {shown(value)}; more than 0 and at most 1 allowed; or leave it out",
            place=place,
        )
    return float(value)


def as_whole(value: JsonValue, place: Place, *, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(place, value, "a whole number")
    return int(_within(value, place, least, most))


def as_flag(value: JsonValue, place: Place) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(place, value, "true or false")
    return value


def _within(value: float, place: Place, least: float, most: float) -> float:
    if not least <= value <= most:
        raise Refusal(
            "bad_value", f"{spelled(place)}: {shown(value)}; {_plain(least)} to {_plain(most)} allowed", place=place
        )
    return value


def _plain(limit: float) -> str:
    """A whole number with all its digits: rounded, it would be another limit."""
    return str(limit) if isinstance(limit, int) else f"{limit:g}"


def _wrong_type(place: Place, value: JsonValue, wanted: str) -> Refusal:
    return Refusal(
        "wrong_type", f"{spelled(place)}: {type_name(value)} ({shown(value)}); {wanted} is needed", place=place
    )
