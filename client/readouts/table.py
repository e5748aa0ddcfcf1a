"""Rows as a table, for a terminal and for a page in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from client.aligned import aligned
from client.evaluation.intervals import Share
from client.evaluation.item import Item
from client.readouts.rows import TYPES, Row, guessing

NOTHING = "–"


def terminal(rows: Sequence[Row], items: Sequence[Item]) -> str:
    return aligned(cells(rows, items))


def markdown(rows: Sequence[Row], items: Sequence[Item]) -> str:
    """Times as ratios to the first row's: such a page is read where the machine is not known."""
    head, *body = cells(rows, items, relative_times=True)
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *body))


def cells(rows: Sequence[Row], items: Sequence[Item], *, relative_times: bool = False) -> list[list[str]]:
    """Heading first, guessing last."""
    time: str = "p50"
    told: Callable[[float | None], str] = _milliseconds
    if relative_times:
        time, told = f"p50 ÷ {rows[0].name}", partial(_ratio, rows[0].p50)
    types = [each for each in TYPES if any(item.question_type == each for item in items)]
    head = ["readout", "right (95 %)", *types, "ECE", "NLL", "paraphrase: same", "order: changed", time]
    chance = ["guessing", _percent(guessing(items)), *(_percent(guessing(items, each)) for each in types)]
    return [head, *(_line(row, types, told) for row in rows), [*chance, *[NOTHING] * (len(head) - len(chance))]]


def _line(row: Row, types: Sequence[str], told: Callable[[float | None], str]) -> list[str]:
    """told: seconds → a time in words."""
    parts = {part.name: part for part in row.by_type}
    whole = row.whole
    return [
        row.name,
        f"{_percent(whole.accuracy.value)} ({_percent(whole.accuracy.low)}–{_percent(whole.accuracy.high)})",
        *(_counted(parts[each].accuracy) if each in parts else NOTHING for each in types),
        _number(whole.calibration_error, 3),
        _number(whole.negative_log_likelihood, 2),
        _percent(row.agreeing.value) if row.agreeing else NOTHING,
        _percent(row.flipped.value) if row.flipped else NOTHING,
        told(row.p50),
    ]


def _milliseconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds * 1000:.0f} ms"


def _ratio(first: float | None, seconds: float | None) -> str:
    return NOTHING if seconds is None or not first else f"{seconds / first:.2f}"


def _counted(share: Share) -> str:
    return f"{_percent(share.value)} of {share.total}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value * 100:.0f} %"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
