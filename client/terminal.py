"""What a terminal or a pipe gets: text that moves no cursor, and an end of it that is told and not a traceback."""

from __future__ import annotations

import io
import os
import sys

READER_GONE = 141  # as shells count a program that SIGPIPE ended


def shown(text: str) -> str:
    """Characters that would move a terminal's cursor or change its colours, as escapes."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


def shown_lines(text: str) -> str:
    """The same, but line breaks stay."""
    return "\n".join(map(shown, text.split("\n")))


def give_up_output() -> None:
    """Nobody can be told anything more there; without this Python would try once more at its own end, and complain."""
    try:
        number = sys.stdout.fileno()
    except (io.UnsupportedOperation, ValueError):  # a stand-in, as tests have one
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
