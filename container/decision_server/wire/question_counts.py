"""How many questions, options and levels a body may have, in the dialects that ask questions (contract 4.1, 5)."""

from __future__ import annotations

from typing import NamedTuple


class Range(NamedTuple):
    least: int
    most: int


MAX_QUESTIONS = 400
OPTIONS = Range(2, 255)
LEVELS = Range(2, 10)
