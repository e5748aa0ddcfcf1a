"""Decision → prompt text, one function a prompt version. Pure: knows no model, no template, no tokens.

A prompt has a system turn and a user turn; the model's own chat template frames them (template.py). The offsets in
`branches` say where prompts of like decisions part; they are hints for the reuse of work and change nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from decision_server.decisions import Decision
from decision_server.model_errors import TooManyOptions, UnknownChoice

DIRECT_OPTIONS = "direct-options-v1"
DIRECT_OPTIONS_WIDE = "direct-options-v1-wide"
PROMPT_VERSIONS = (DIRECT_OPTIONS, DIRECT_OPTIONS_WIDE)

_SYSTEM = {
    DIRECT_OPTIONS: (
        "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
        "Respond with only its uppercase letter, with no explanation or reasoning."
    ),
    DIRECT_OPTIONS_WIDE: (
        "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
        "Respond with only its label of one or two uppercase letters, with no explanation or reasoning."
    ),
}
_LETTER_OPTIONS = 16


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The two turns as text.

    branches: ascending offsets into `user`, in characters. Decisions of this version share the text before the first;
        those with an equal state share the text before the second.
    """

    version: str
    system: str
    user: str
    branches: tuple[int, ...]


def version_for(requested: str, option_count: int) -> str:
    """The version that is really used: past 16 options the labels go on, and the version says so (contract 3.7)."""
    if requested not in PROMPT_VERSIONS:
        raise UnknownChoice(field="prompt_version", value=requested, known=PROMPT_VERSIONS)
    if requested == DIRECT_OPTIONS and option_count > _LETTER_OPTIONS:
        return DIRECT_OPTIONS_WIDE
    return requested


def system_turn(version: str) -> str:
    """The fixed system turn of a version, known before any decision is."""
    if version not in _SYSTEM:
        raise UnknownChoice(field="prompt_version", value=version, known=PROMPT_VERSIONS)
    return _SYSTEM[version]


def render(decision: Decision, labels: Sequence[str], version: str) -> Prompt:
    """Contract 3.5 and 3.7. labels: one for each option, in order."""
    if version == DIRECT_OPTIONS and len(decision.options) > _LETTER_OPTIONS:
        raise TooManyOptions(given=len(decision.options), limit=_LETTER_OPTIONS, reason=f"the labels of {version}")
    key = "letter" if version == DIRECT_OPTIONS else "label"
    options = [
        {key: label, "description": option.description} for label, option in zip(labels, decision.options, strict=True)
    ]
    head = '{"evidence":'
    state = f" {_json(decision.state)}"
    middle = ', "criterion":'
    tail = f' {_json(decision.question)}, "options": {_json(options)}}}'
    return Prompt(
        version=version,
        system=system_turn(version),
        user=head + state + middle + tail,
        branches=(len(head), len(head) + len(state) + len(middle)),
    )


def _json(value: object) -> str:
    """Python's default separators, non-ASCII kept, keys in the order given (contract 3.5)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
