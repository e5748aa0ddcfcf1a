"""What an answer has to be about: the names and option ids of what is asked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from client.decisions.answer import Answer
from client.decisions.error import not_understood
from client.decisions.questions import Choice, Decision, Noul, Question, Score


@dataclass(frozen=True, kw_only=True)
class Expected:
    """name: a decision's id or a question's name."""

    name: str
    option_ids: tuple[str, ...]


def of_decisions(decisions: Sequence[Decision]) -> tuple[Expected, ...]:
    return tuple(Expected(name=each.id, option_ids=tuple(option.id for option in each.options)) for each in decisions)


def of_questions(questions: Mapping[str, Question]) -> tuple[Expected, ...]:
    return tuple(Expected(name=name, option_ids=_of_question(each)) for name, each in questions.items())


def of_body(body: Mapping[str, Any]) -> tuple[Expected, ...]:
    """body: of contract section 3 or 4, and one that a server has answered. Raises DecisionError where it is none."""
    try:
        if "questions" in body:
            return tuple(
                Expected(name=name, option_ids=_of_asked(each["type"], each.get("criteria")))
                for name, each in body["questions"].items()
            )
        decisions = body["decisions"] if "decisions" in body else [body["decision"]]
        return tuple(
            Expected(name=each["id"], option_ids=tuple(option["id"] for option in each["options"]))
            for each in decisions
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise not_understood(
            f"what was asked is no body of contract section 3 or 4 ({error!r}), and it has one"
        ) from error


def matched(expected: Sequence[Expected], found: Sequence[tuple[str, Answer]]) -> tuple[Answer, ...]:
    """found: by name, in the order asked. Raises DecisionError where it answers anything else."""
    asked, answered = [each.name for each in expected], [name for name, _ in found]
    if asked != answered:
        raise not_understood(f"asked {_some(asked)}, and it answers {_some(answered)}")
    for each, (_, answer) in zip(expected, found, strict=True):
        if each.option_ids != answer.option_ids:
            raise not_understood(
                f"{each.name!r} was asked with the options {_some(each.option_ids)}, "
                f"and it answers with {_some(answer.option_ids)}"
            )
    return tuple(answer for _, answer in found)


def _of_question(question: Question) -> tuple[str, ...]:
    match question:
        case Noul():
            return _of_asked("noul", None)
        case Choice():
            return _of_asked("choice", question.options)
        case Score():
            return _of_asked("score", question.levels)


def _of_asked(kind: str, criteria: Any) -> tuple[str, ...]:
    if kind == "noul":
        return "yes", "no"
    return tuple(criteria) if kind == "choice" else tuple(map(str, range(len(criteria))))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name)[:60] for name in names[:3]) or "nothing"
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
