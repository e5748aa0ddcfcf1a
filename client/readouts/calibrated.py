"""What a run's answers would have been with a fitted calibration: each by a temperature that never saw it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from client.calibration.collecting import at_temperature, collect
from client.calibration.cross_validation import FOLDS, SEED
from client.calibration.verdicts import KEPT, Verdict, judge, temperatures
from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Outcome


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """outcomes: of the given order, in the run's order; those of types that were not kept are as they were."""

    outcomes: tuple[Outcome, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def temperatures(self) -> dict[str, float]:
        """By type of question, the kept ones."""
        return temperatures(self.verdicts)


def calibrated(items: Sequence[Item], outcomes: Sequence[Outcome], *, readout: str, prompt_version: str) -> Calibrated:
    """readout, prompt_version: those the outcomes were asked by. Fitted and judged as `calibrate` does by default."""
    collected = collect(items, outcomes, readout=readout, prompt_version=prompt_version)
    verdicts = judge(collected, folds=FOLDS, seed=SEED, only_certain=False)
    held_out = {
        labelled.scored.item_id: at_temperature(labelled, temperature).given
        for verdict in verdicts
        if verdict.status == KEPT and verdict.validated is not None
        for labelled, temperature in zip(
            collected.of_type(verdict.question_type), verdict.validated.of_item, strict=True
        )
    }
    return Calibrated(
        outcomes=tuple(
            replace(outcome, answer=held_out.get(outcome.item_id, outcome.answer))
            for outcome in outcomes
            if outcome.order == GIVEN
        ),
        verdicts=verdicts,
    )
