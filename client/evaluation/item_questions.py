"""A question in the form of System One (contract 4.1) → its value. Pure."""

from __future__ import annotations

from typing import Any

from client.decisions import Choice, Noul, Question, Score
from client.json_lines import BadLine, type_name

TYPES = ("noul", "choice", "score")
FIELDS = ("type", "instructions", "criteria", "x_abstain_below")


def question_of(given: object, place: str) -> Question:
    """place: for errors. Raises BadLine."""
    if not isinstance(given, dict):
        raise BadLine(f"{type_name(given)}; an object is needed", field=place)
    for name in given:
        if name not in FIELDS:
            raise BadLine(f"not a known field; known are {', '.join(FIELDS)}", field=f"{place}.{name[:60]}")
    instructions, criteria = given.get("instructions"), given.get("criteria")
    below = given.get("x_abstain_below")
    if below is not None and (isinstance(below, bool) or not isinstance(below, (int, float)) or not 0 < below <= 1):
        raise BadLine(f"{below!r}; a number above 0, up to 1, is needed", field=f"{place}.x_abstain_below")
    here = f"{place}.criteria"
    match given.get("type"):
        case "noul":
            told: dict[str, Any] = _object({} if criteria is None else criteria, here)
            for name in told:
                if name not in ("true", "false"):
                    raise BadLine("not a known field; known are true, false", field=f"{here}.{name[:60]}")
            return Noul(instructions=instructions, true=told.get("true"), false=told.get("false"), abstain_below=below)
        case "choice":
            options = _object(criteria, here)
            if not 2 <= len(options) <= 255:
                raise BadLine(f"{len(options)} options; 2 to 255 allowed", field=here)
            return Choice(instructions=instructions, options=options, abstain_below=below)
        case "score":
            if not isinstance(criteria, list) or not 2 <= len(criteria) <= 10:
                raise BadLine("a list of 2 to 10 levels is needed", field=here)
            return Score(instructions=instructions, levels=tuple(criteria), abstain_below=below)
    raise BadLine(f"{given.get('type')!r}; known are {', '.join(TYPES)}", field=f"{place}.type")


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadLine(f"{type_name(value)}; an object is needed", field=place)
    return value
