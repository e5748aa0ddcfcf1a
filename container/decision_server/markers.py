"""Finding the text of special tokens in other text, and cutting it so that none is left whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache


def is_marker(text: str) -> bool:
    """Added tokens that spell mere white space are ordinary text; all others (`<think>`) are the template's own."""
    return len(text) > 1 and bool(text.replace("▁", " ").strip())


def pattern(texts: list[str], *, escape: bool = True) -> re.Pattern[str]:
    """Matches any of the texts, the longest first as llama.cpp does; nothing at all if there is none."""
    texts = sorted((text for text in texts if text), key=len, reverse=True)
    return _compiled("|".join(re.escape(text) if escape else text for text in texts) or r"(?!)")


@lru_cache(maxsize=16)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def cut(text: str, markers: re.Pattern[str]) -> Iterator[str]:
    """Pieces that join to the text and hold no marker: each is cut after its first character."""
    start = 0
    while match := markers.search(text, start):
        yield text[start : match.start() + 1]
        start = match.start() + 1
    yield text[start:]
