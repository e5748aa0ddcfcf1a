"""The examples of docs/api.md: each request with the answer that the page says it gets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/api.md"
LEFT_OUT = "…"
TOLERANCE = 0.02  # pages are read on other machines than they were written on, whose arithmetic rounds otherwise

_PAIR = re.compile(r"```json request (/\S+)\n(.*?)\n```\n```json answer ?(\d*)\n(.*?)\n```", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Example:
    route: str
    request: Any
    status: int
    answer: Any


def examples() -> list[Example]:
    return [
        Example(route=route, request=json.loads(request), status=int(status or 200), answer=json.loads(answer))
        for route, request, status, answer in _PAIR.findall(PAGE.read_text(encoding="utf-8"))
    ]


def differences(said: Any, seen: Any, place: str = "") -> list[str]:
    """Where the server's answer is not what the page says. The page says nothing of what it leaves out."""
    if said == LEFT_OUT:
        return []
    if isinstance(said, dict) and isinstance(seen, dict):
        listed = {key: value for key, value in said.items() if key != LEFT_OUT}
        missing = [f"{place}.{key} is not there" for key in listed.keys() - seen.keys()]
        extra = [] if LEFT_OUT in said else [f"{place}.{key} is not on the page" for key in seen.keys() - said.keys()]
        inner = [differences(listed[key], seen[key], f"{place}.{key}") for key in listed.keys() & seen.keys()]
        order = [] if [key for key in seen if key in listed] == list(listed) else [f"{place}: another order of fields"]
        return [*missing, *extra, *order, *(one for found in inner for one in found)]
    if isinstance(said, list) and isinstance(seen, list) and len(said) == len(seen):
        return [
            one for i, pair in enumerate(zip(said, seen, strict=True)) for one in differences(*pair, f"{place}[{i}]")
        ]
    if isinstance(said, float) and isinstance(seen, float):
        return [] if abs(said - seen) <= TOLERANCE else [f"{place}: {said} on the page, {seen} seen"]
    same = said == seen and type(said) is type(seen)
    return [] if same else [f"{place}: {said!r} on the page, {seen!r} seen"]
