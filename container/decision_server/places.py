"""Places in a request's body: what an error names, in words for a person and in parts for a program."""

from __future__ import annotations

from typing import TypeAlias

Place: TypeAlias = tuple["str | int", ...]  # keys and indices from the body inwards; the body itself is ()

_LONGEST_KEY = 60  # a caller's key may be as long as the body; a message is read by a person


def spelled(place: Place) -> str:
    """`decisions[2].options`; the body itself is empty."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if len(part) <= _LONGEST_KEY else f"{part[: _LONGEST_KEY - 1]}…"
            text += f".{key}" if text else key
    return text


def named(place: Place) -> str:
    """The same for a sentence: the body itself is `the body`."""
    return spelled(place) or "the body"
