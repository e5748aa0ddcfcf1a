"""What was answered, alike for each way to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from client.decisions.values import JsonValue

SUM_MAY_MISS = 1e-6  # of 1: what a distribution may lack once its numbers were written as text


@dataclass(frozen=True, kw_only=True)
class AnswerFacts:
    """What is told of an answer. Lists follow option_ids, in the order asked: "yes" and "no" of a noul, "0", "1" and
    so on of a score's levels.

    None: the answer says nothing of it. option_logits and cached_tokens are told of decisions alone, input_tokens of
    those and of a question that was asked alone.
    """

    question_type: str
    option_ids: tuple[str, ...]
    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...] | None
    label_mass: float
    readout: str
    prompt_version: str
    prompt_sha256: str
    temperature: float
    calibration_version: str | None
    rotation_spread: float | None
    warnings: tuple[str, ...]
    abstained: bool | None
    input_tokens: int | None
    cached_tokens: int | None
    model: str

    @property
    def top(self) -> str:
        """The first of the most probable options."""
        return self.option_ids[self.probabilities.index(self.top_probability)]

    @property
    def top_probability(self) -> float:
        return max(self.probabilities)


@dataclass(frozen=True, kw_only=True)
class Answer(AnswerFacts):
    """raw: the answer as it came."""

    raw: Mapping[str, JsonValue] = field(repr=False)
