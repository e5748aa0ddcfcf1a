"""What flags wish for all that a file asks: the readout, the prompt version, from when on to abstain. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from client.decisions import JsonValue

WISHES = ("readout", "prompt_version", "abstain_below")


class Conflict(ValueError):
    """A body wishes something else than the flag does; which of them counts is not for a program to guess."""


def with_wishes(body: dict[str, Any], wishes: Mapping[str, JsonValue]) -> dict[str, Any]:
    """body: of contract section 3 or 4; parts of another shape are left for the server to refuse. Raises Conflict."""
    for name, value in wishes.items():
        for place, key in _places(body, name):
            if place.get(key) is not None and place[key] != value:
                raise Conflict(
                    f"it has {key!r}: {place[key]!r}, and --{name.replace('_', '-')} says {value!r}. "
                    "Remedy: leave one of them out"
                )
            place[key] = value
    return body


def _places(body: dict[str, Any], name: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects that say it, and by which key."""
    if "questions" in body:
        if name != "abstain_below":
            yield body, f"x_{name}"
        elif isinstance(body["questions"], dict):
            yield from ((each, "x_abstain_below") for each in body["questions"].values() if isinstance(each, dict))
        return
    decisions = body["decisions"] if "decisions" in body else [body["decision"]]
    if isinstance(decisions, list):
        yield from ((each, name) for each in decisions if isinstance(each, dict))
