"""One line of a JSON Lines file → a JSON object, as strictly as the server reads a body (contract 8). Knows nothing of
decisions.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 64


class BadLine(ValueError):
    """Why a line cannot be asked. field: the place in its object, or None for the line as a whole."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


def read_object(line: bytes) -> dict[str, Any]:
    """line: without its line break. What JSON's grammar lets through is `check_value`'s business. Raises BadLine."""
    value = read_value(line)
    if not isinstance(value, dict):
        raise BadLine(f"{type_name(value)}; an object is needed")
    return value


def read_value(line: bytes) -> Any:
    """The same, for JSON of any type."""
    if not line.strip():
        raise BadLine("empty; remove it")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"byte {error.start} is not UTF-8; write the file as UTF-8") from error
    if text.startswith("\ufeff"):
        raise BadLine("begins with a byte order mark; write the file without it")
    try:
        return json.loads(text, object_pairs_hook=_object)
    except BadLine:
        raise
    except RecursionError as error:
        raise _too_deep() from error
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"its line {error.lineno}, column {error.colno}"
        raise BadLine(f"not JSON: {error.msg} at {place}") from error
    except ValueError as error:  # an integer of more digits than Python reads
        raise BadLine(f"not JSON that can be read: {error}") from error


def check_value(value: object, place: str = "", depth: int = 1) -> None:
    """Raises BadLine for what is deeper than MAX_DEPTH, not finite, or half a character."""
    if depth > MAX_DEPTH and isinstance(value, (dict, list)):
        raise _too_deep()
    match value:
        case str():
            _check_text(value, place)
        case float() if not math.isfinite(value):
            raise BadLine(f"{value}; only finite numbers are allowed", field=place or None)
        case dict():
            for key, inner in value.items():
                _check_text(key, place)
                check_value(inner, f"{place}.{key}" if place else key, depth + 1)
        case list():
            for index, inner in enumerate(value):
                check_value(inner, f"{place}[{index}]", depth + 1)


def type_name(value: object) -> str:
    """What JSON calls it, with an article."""
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadLine(f"the key {twice[:60]!r} stands more than once in one object; send each key once")
    return built


def _check_text(text: str, place: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadLine(
            f"holds half of a surrogate pair at character {error.start}; escape characters as whole pairs",
            field=place or None,
        ) from error


def _too_deep() -> BadLine:
    return BadLine(f"nests deeper than {MAX_DEPTH} levels; flatten it")
