"""Decision → prompt text, one rule a prompt version. Pure: knows no model, no template, no tokens.

A prompt has a system turn and a user turn; the model's own chat template frames them (template.py). The offsets in
`branches` say where prompts of like decisions part; they are hints for the reuse of work and change nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from decision_server.choices import (
    CRITERION_FIRST,
    CRITERION_FIRST_WIDE,
    DIRECT_OPTIONS,
    DIRECT_OPTIONS_WIDE,
    LETTER_OPTIONS,
    LIKELIHOOD_PROMPT,
)
from decision_server.decisions import Decision
from decision_server.model_errors import TooManyOptions

NO_EVIDENCE = "N/A"  # stands for the state in the prompt that a likelihood is compared with

_CHOOSE = "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
_BY_LETTER = _CHOOSE + "Respond with only its uppercase letter, with no explanation or reasoning."
_BY_LABEL = _CHOOSE + "Respond with only its label of one or two uppercase letters, with no explanation or reasoning."
_SYSTEM: dict[str, str | None] = {
    DIRECT_OPTIONS: _BY_LETTER,
    DIRECT_OPTIONS_WIDE: _BY_LABEL,
    CRITERION_FIRST: _BY_LETTER,
    CRITERION_FIRST_WIDE: _BY_LABEL,
    LIKELIHOOD_PROMPT: None,
}
_WIDE = (DIRECT_OPTIONS_WIDE, CRITERION_FIRST_WIDE)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The two turns as text. system: None where the version has none; some templates then put one of their own.

    branches: ascending offsets into `user`, in characters. Decisions of this version share the text before the first;
        those whose state (by `criterion-first-v1`: whose question and options) is equal share it up to the second.
    """

    version: str
    system: str | None
    user: str
    branches: tuple[int, ...]


def system_turn(version: str) -> str | None:
    """The fixed system turn of a version, known before any decision is."""
    return _SYSTEM[version]


def render(decision: Decision, labels: Sequence[str], version: str) -> Prompt:
    """The versions that list the options (contract 3.5, 3.7). labels: one for each option, in the order to list."""
    if version not in _WIDE and len(decision.options) > LETTER_OPTIONS:
        raise TooManyOptions(given=len(decision.options), limit=LETTER_OPTIONS, reason=f"the labels of {version}")
    key = "label" if version in _WIDE else "letter"
    options = [
        {key: label, "description": option.description} for label, option in zip(labels, decision.options, strict=True)
    ]
    state, question = _json(decision.state), f'{_json(decision.question)}, "options": {_json(options)}'
    if version in (CRITERION_FIRST, CRITERION_FIRST_WIDE):
        return _prompt(version, '{"criterion":', f" {question}", ', "evidence":', f" {state}}}")
    return _prompt(version, '{"evidence":', f" {state}", ', "criterion":', f" {question}}}")


def render_likelihood(state: object, question: object) -> Prompt:
    """Version `likelihood-v1`: evidence and criterion alone. The options' texts follow as the answer, one at a time."""
    return _prompt(LIKELIHOOD_PROMPT, '{"evidence":', f" {_json(state)}", ', "criterion":', f" {_json(question)}}}")


def _prompt(version: str, head: str, first: str, middle: str, rest: str) -> Prompt:
    return Prompt(
        version=version,
        system=system_turn(version),
        user=head + first + middle + rest,
        branches=(len(head), len(head) + len(first) + len(middle)),
    )


def _json(value: object) -> str:
    """Python's default separators, non-ASCII kept, keys in the order given (contract 3.5)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
