"""A line of the input → the body that asks for its decision (contract 3.1). Pure.

A line is a decision itself, or an object that holds it under `decision`. What is checked here costs the caller nothing;
what only the model can tell (a state longer than the context) comes back as that line's answer.
"""

from __future__ import annotations

import json
from typing import Any

from client.json_lines import BadLine, check_value, read_object, type_name

REQUIRED = ("id", "state", "question", "options")
CHOSEN = ("readout", "prompt_version")
OPTIONAL = (*CHOSEN, "abstain_below")
MIN_OPTIONS, MAX_OPTIONS = 2, 255


def body_of(line: bytes, *, max_bytes: int) -> bytes:
    """The request body, one line of JSON without a line break. Raises BadLine."""
    given = read_object(line)
    whole = given if "decision" in given else {"decision": given}
    _fields(whole, "", required=("decision",), optional=())
    check_value(whole)
    check_decision(whole["decision"], "decision")
    body = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    if len(body) > max_bytes:
        raise BadLine(f"{len(body)} bytes; at most {max_bytes} allowed; shorten the state", field="decision")
    return body


def decision_id(body: bytes) -> str:
    """body: made by `body_of`."""
    return str(json.loads(body)["decision"]["id"])


def check_decision(decision: object, place: str) -> None:
    """Raises BadLine."""
    if not isinstance(decision, dict):
        raise BadLine(f"{type_name(decision)}; an object is needed", field=place)
    _fields(decision, place, required=REQUIRED, optional=OPTIONAL)
    for name in ("id", "question", *(name for name in CHOSEN if name in decision)):
        _text(decision[name], f"{place}.{name}")
    if "abstain_below" in decision:
        _threshold(decision["abstain_below"], f"{place}.abstain_below")
    state = decision["state"]
    if not isinstance(state, (str, dict, list)):
        raise BadLine(f"{type_name(state)}; a string, an object or a list is needed", field=f"{place}.state")
    if not state:
        raise BadLine("empty; give the evidence to decide on", field=f"{place}.state")
    _options(decision["options"], f"{place}.options")


def _options(options: object, place: str) -> None:
    if not isinstance(options, list):
        raise BadLine(f"{type_name(options)}; a list is needed", field=place)
    if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
        raise BadLine(f"{len(options)} given; {MIN_OPTIONS} to {MAX_OPTIONS} allowed", field=place)
    seen: set[str] = set()
    for index, option in enumerate(options):
        here = f"{place}[{index}]"
        if not isinstance(option, dict):
            raise BadLine(f"{type_name(option)}; an object is needed", field=here)
        _fields(option, here, required=("id", "description"), optional=())
        for name in ("id", "description"):
            _text(option[name], f"{here}.{name}")
        if option["id"] in seen:
            raise BadLine(f"{option['id'][:60]!r} stands twice; give each option an id of its own", field=f"{here}.id")
        seen.add(option["id"])


def _fields(given: dict[str, Any], place: str, *, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    known = ", ".join((*required, *optional))
    for name in given:
        if name not in required and name not in optional:
            raise BadLine(f"not a known field; known are {known}", field=_join(place, name[:60]))
    for name in required:
        if name not in given:
            raise BadLine("missing", field=_join(place, name))


def _text(value: object, place: str) -> None:
    if not isinstance(value, str):
        raise BadLine(f"{type_name(value)}; a string is needed", field=place)
    if not value:
        raise BadLine("empty; a text is needed", field=place)


def _threshold(value: object, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadLine(f"{type_name(value)}; a number is needed", field=place)
    if not 0 < value <= 1:
        raise BadLine(f"{json.dumps(value)[:60]}; more than 0 and at most 1 allowed", field=place)


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
