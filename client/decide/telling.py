"""What becomes of each question, for people or for programs: answers on standard output, a person's errors beside."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from client.decide import lines, view
from client.decide.asked import Asked
from client.decide.wording import wordings
from client.decisions import Answer, DecisionError
from client.terminal import shown

Outcome: TypeAlias = "Mapping[str, Answer] | DecisionError"
ENDS_IT = frozenset(  # whatever is asked: a person has to do something first
    {"aws_credentials", "access_denied", "endpoint_not_found", "not_connected", "authentication_error"}
)


class Told(Protocol):
    def outcome(self, each: Asked, outcome: Outcome) -> None:
        """Of one question or line, in their order."""

    def end(self, line: int, *, answered: int, rest: Sequence[Asked]) -> None:
        """`line` ended the file. Some of the rest may have been asked already; nobody waited for their answers."""


class ForPrograms:
    """A record for each answer, and for each line that has none."""

    def outcome(self, each: Asked, outcome: Outcome) -> None:
        if isinstance(outcome, DecisionError):
            print(lines.error_line(outcome, line=each.line), flush=True)
            return
        for name, answer in outcome.items():
            print(lines.answer_line(name, answer, line=each.line), flush=True)

    def end(self, line: int, *, answered: int, rest: Sequence[Asked]) -> None:
        for each in rest:
            self.outcome(each, DecisionError("not_asked", f"line {line} ended the file"))


class ForPeople:
    def outcome(self, each: Asked, outcome: Outcome) -> None:
        place = "" if each.line is None else f"line {each.line}: "
        if isinstance(outcome, DecisionError):
            passing = outcome.retryable and outcome.code not in ENDS_IT
            later = "; it may be answered later, and --deadline says how long is tried" if passing else ""
            _tell(f"{place}{shown(outcome.message)}{later}")
            return
        words = wordings(each.body)
        for name, answer in outcome.items():
            if each.line is not None or len(outcome) > 1:
                print(f"{place}{shown(name)}")
            print(view.table(answer, words[name], colour=sys.stdout.isatty()) + "\n", flush=True)

    def end(self, line: int, *, answered: int, rest: Sequence[Asked]) -> None:
        _tell(
            f"line {line} ended the file: answered are {answered} of the lines before it, none of {len(rest)} after it"
        )


def _tell(text: str) -> None:
    print(f"decide: {text}", file=sys.stderr, flush=True)
