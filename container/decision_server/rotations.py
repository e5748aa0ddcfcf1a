"""In which orders the options are listed when answers are averaged over rotations (F8). Pure.

The orders are rotations of one another: all of them up to MOST options, MOST evenly spaced ones past that. They start
from the rotation whose texts come first in code point order, not from the request's own: so a request whose options
stand rotated asks for the very same prompts, and each option gets the very same probability.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST = 8  # each one is a prompt more to compute; with all of them, every option stands in every place once


def orders(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """texts: the options'. Each order holds every index into `texts` once: what stands first, second, and so on."""
    count = len(texts)
    start = min(range(count), key=lambda place: (*texts[place:], *texts[:place]))
    asked = min(count, MOST)
    turns = (start + count * turn // asked for turn in range(asked))
    return tuple(tuple((turn + place) % count for place in range(count)) for turn in turns)
