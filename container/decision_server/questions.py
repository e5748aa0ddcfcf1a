"""The three types of question → decisions: what the model reads for each (docs/decisions/0016). Pure.

A question's name never gets into its text, so renaming it changes no answer. An option's own name does: `Billing` may
be all that says what an option is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from decision_server.decisions import Decision, JsonValue, Option, State

Content: TypeAlias = State  # instructions, descriptions and levels: text, or JSON where a caller has structure

NOUL, CHOICE, SCORE = "noul", "choice", "score"
_YES, _NO = "Yes.", "No."
# What is asked where a question has no instructions and its options must speak for themselves.
_UNASKED = {
    NOUL: "Which answer fits the evidence?",
    CHOICE: "Which option fits the evidence?",
    SCORE: "Which level fits the evidence?",
}


@dataclass(frozen=True, kw_only=True)
class Named:
    """An option or a level: what it is called, and what that means where a caller says so."""

    name: str
    meaning: Content | None


def yes_or_no(
    id_: str, state: State, instructions: Content | None, *, yes: Content | None, no: Content | None
) -> Decision:
    """id_: names the answer. yes, no: what counts as each, where the caller says so."""
    options = (Option(id="yes", description=_answer(_YES, yes)), Option(id="no", description=_answer(_NO, no)))
    return _decision(id_, NOUL, state, instructions, options)


def choice(id_: str, state: State, instructions: Content | None, options: Mapping[str, Named]) -> Decision:
    """options: by ids, in the order to list."""
    listed = tuple(_named(option, named) for option, named in options.items())
    return _decision(id_, CHOICE, state, instructions, listed)


def score(id_: str, state: State, instructions: Content | None, levels: Sequence[Named | Content]) -> Decision:
    """levels: from the lowest to the highest; those without a name are what they mean."""
    listed = tuple(_level(str(index), level) for index, level in enumerate(levels))
    return _decision(id_, SCORE, state, instructions, listed)


def _answer(word: str, meaning: Content | None) -> str:
    return word if meaning is None else f"{word} {_text(meaning)}"


def _level(id_: str, level: Named | Content) -> Option:
    return _named(id_, level) if isinstance(level, Named) else Option(id=id_, description=_text(level))


def _named(id_: str, option: Named) -> Option:
    """A list shows both; an answer in words would be the meaning, without the name of it."""
    if option.meaning is None:
        return Option(id=id_, description=option.name)
    meaning = _text(option.meaning)
    return Option(id=id_, description=f"{option.name}: {meaning}", said=meaning)


def _decision(id_: str, kind: str, state: State, instructions: Content | None, options: tuple[Option, ...]) -> Decision:
    question = _UNASKED[kind] if instructions is None else instructions
    return Decision(id=id_, state=state, question=question, options=options, question_type=kind)


def _text(content: JsonValue) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
