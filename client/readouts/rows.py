"""The table's rows: what one readout got right, how sure it was, how long it took. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from client.evaluation.intervals import Share
from client.evaluation.item import Item
from client.evaluation.metrics import Part, Summary, summarise
from client.evaluation.outcomes import Outcome
from client.evaluation.reliability import Bin
from client.readouts.calibrated import Calibrated

TYPES = ("choice", "noul", "score")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A run by one readout: what was asked for, and what came."""

    readout: str
    prompt_version: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """name: for people. by_type: those that the set has, in the order of TYPES. agreeing: pairs of paraphrases with
    one answer. flipped: choices answered otherwise with their options turned round. p50, p95: seconds.
    temperatures: by type, of a calibrated row alone. bins: of the reliability diagram.
    """

    name: str
    readout: str
    prompt_version: str
    temperatures: Mapping[str, float] | None
    whole: Part
    by_type: tuple[Part, ...]
    by_family: tuple[Part, ...]
    by_language: tuple[Part, ...]
    agreeing: Share | None
    flipped: Share | None
    p50: float | None
    p95: float | None
    bins: tuple[Bin, ...]


def rows(items: Sequence[Item], asked: Asked, fitted: Calibrated) -> tuple[Row, ...]:
    """That of the readout as it is, and, where a calibration was kept for some type, a second one with it.

    The second one's probabilities are held-out ones (`client.readouts.calibrated`); what a temperature cannot change,
    which answers are right and how long they take, is that of the first.
    """
    plain = _row(asked.readout, asked, summarise(items, asked.outcomes), None)
    if not fitted.temperatures:
        return (plain,)
    return plain, _calibrated_row(items, asked, plain, fitted)


def guessing(items: Sequence[Item], question_type: str | None = None) -> float | None:
    """The share that is right when each option is taken equally often; None where there is no such item."""
    counts = [len(item.option_ids) for item in items if question_type in (None, item.question_type)]
    return sum(1 / count for count in counts) / len(counts) if counts else None


def _row(name: str, asked: Asked, summary: Summary, temperatures: Mapping[str, float] | None) -> Row:
    parts = {part.name: part for part in summary.by_type}
    return Row(
        name=name,
        readout=asked.readout,
        prompt_version=asked.prompt_version,
        temperatures=temperatures,
        whole=summary.whole,
        by_type=tuple(parts[each] for each in TYPES if each in parts),
        by_family=summary.by_family,
        by_language=summary.by_language,
        agreeing=summary.paraphrases.groups if summary.paraphrases else None,
        flipped=summary.flips.flipped if summary.flips else None,
        p50=summary.timing.p50,
        p95=summary.timing.p95,
        bins=summary.reliability,
    )


def _calibrated_row(items: Sequence[Item], asked: Asked, plain: Row, fitted: Calibrated) -> Row:
    row = _row(f"{asked.readout}, calibrated", asked, summarise(items, fitted.outcomes), fitted.temperatures)
    return replace(row, agreeing=plain.agreeing, flipped=plain.flipped, p50=plain.p50, p95=plain.p95)
