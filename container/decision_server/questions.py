"""The three types of question → decisions: what the model reads for each (docs/decisions/0014). Pure.

A question's name never gets into its text, so renaming it changes no answer. An option's own name does: `Billing` may
be all that says what an option is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from decision_server.decisions import Decision, JsonValue, Option, State

Content: TypeAlias = State  # instructions, descriptions and levels: text, or JSON where a caller has structure

YES, NO = "Yes", "No"
NOUL, CHOICE, SCORE = "noul", "choice", "score"
# What is asked where a question has no instructions and its options must speak for themselves.
UNASKED = {
    NOUL: "Which answer fits the evidence?",
    CHOICE: "Which option fits the evidence?",
    SCORE: "Which level fits the evidence?",
}


def yes_or_no(
    name: str, state: State, instructions: Content | None, *, yes: Content | None, no: Content | None
) -> Decision:
    """yes, no: what counts as each, where the caller says so."""
    options = (Option(id="yes", description=option_text(YES, yes)), Option(id="no", description=option_text(NO, no)))
    return _decision(name, NOUL, state, instructions, options)


def choice(
    name: str, state: State, instructions: Content | None, options: Mapping[str, tuple[str, Content | None]]
) -> Decision:
    """options: id → the option's name and what it means, in the order to list."""
    listed = tuple(Option(id=id_, description=option_text(*named)) for id_, named in options.items())
    return _decision(name, CHOICE, state, instructions, listed)


def score(name: str, state: State, instructions: Content | None, levels: Sequence[Content]) -> Decision:
    """levels: from the lowest to the highest."""
    listed = tuple(Option(id=str(index), description=_text(level)) for index, level in enumerate(levels))
    return _decision(name, SCORE, state, instructions, listed)


def option_text(name: str, meaning: Content | None) -> str:
    """What the model reads of an option: its name, and what it means where that is said."""
    return name if meaning is None else f"{name}: {_text(meaning)}"


def _decision(
    name: str, kind: str, state: State, instructions: Content | None, options: tuple[Option, ...]
) -> Decision:
    question = UNASKED[kind] if instructions is None else instructions
    return Decision(id=name, state=state, question=question, options=options, question_type=kind)


def _text(content: JsonValue) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
