"""What the answers say of how they came about: with one target and one setting there is one line for each type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from client.evaluation.outcomes import GIVEN, Outcome


@dataclass(frozen=True, kw_only=True)
class Setup:
    question_type: str
    model: str
    readout: str
    prompt_version: str
    temperature: float
    calibration_version: str | None
    answers: int


def setups(outcomes: Sequence[Outcome]) -> tuple[Setup, ...]:
    """Those that occur among the answers in the given order, as they first do."""
    counts = Counter(
        (
            each.answer.question_type,
            each.answer.model,
            each.answer.readout,
            each.answer.prompt_version,
            each.answer.temperature,
            each.answer.calibration_version,
        )
        for each in outcomes
        if each.answer is not None and each.order == GIVEN
    )
    return tuple(
        Setup(
            question_type=kind,
            model=model,
            readout=readout,
            prompt_version=version,
            temperature=temperature,
            calibration_version=calibration,
            answers=count,
        )
        for (kind, model, readout, version, temperature, calibration), count in counts.items()
    )
