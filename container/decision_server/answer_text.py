"""Bytes of tokens → text that may be shown at once: whole characters only, nothing of a stop text. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class AnswerText:
    """stop: texts at which the answer ends; they are not part of it. stopped: whether one has come."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # what may yet be the beginning of a stop text
        self.stopped = False

    def add(self, piece: bytes) -> str:
        """What can be shown now. Bytes of an unfinished character are kept until the rest of it comes."""
        text = self._held + self._decoder.decode(piece)
        found = [place for stop in self._stop if (place := text.find(stop)) >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        held = max((_begun(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """At the end: what no stop text came of. An unfinished character is left out."""
        held, self._held = self._held, ""
        return held


def _begun(text: str, stop: str) -> int:
    """How many of the text's last characters are the first ones of `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)
