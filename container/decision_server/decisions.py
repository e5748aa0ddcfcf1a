"""The values every part speaks of: a decision as asked, and its result. Knows neither HTTP nor llama.cpp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
State: TypeAlias = "str | Sequence[JsonValue] | Mapping[str, JsonValue]"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One declared answer. `id` names it to the caller; only the texts are shown to the model.

    description: as a prompt lists it. said: as an answer in words would put it, where that is something else.
    """

    id: str
    description: str
    said: str | None = None

    @property
    def answer(self) -> str:
        """The text whose likelihood is that of the option."""
        return self.description if self.said is None else self.said


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One question about one state, validated: 2 to 255 options with unique ids, `state` and `question` not empty.

    abstain_below: its answer says whether the largest probability is less than this; None where that was not asked.
    `readout` and `prompt_version` are None where the caller leaves them to the server's settings. `question_type` says
    which temperature of a calibration it gets (calibration.py).
    """

    id: str
    state: State
    question: State
    options: tuple[Option, ...]
    readout: str | None = None
    prompt_version: str | None = None
    question_type: str = "choice"
    abstain_below: float | None = None

    def in_order(self, order: Sequence[int]) -> Decision:
        """The same decision with its options in another order. order: each option's index, once."""
        return replace(self, options=tuple(self.options[index] for index in order))
