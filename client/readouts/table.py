"""Rows as a table, for a terminal and for a page in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from client.evaluation.intervals import Share
from client.evaluation.item import Item
from client.readouts.rows import TYPES, Row, guessing

NOTHING = "–"


def terminal(rows: Sequence[Row], items: Sequence[Item]) -> str:
    lines = cells(rows, items)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) if not column else cell.rjust(width)
                  for column, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    )  # fmt: skip


def markdown(rows: Sequence[Row], items: Sequence[Item]) -> str:
    head, *body = cells(rows, items)
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *body))


def cells(rows: Sequence[Row], items: Sequence[Item]) -> list[list[str]]:
    """Heading first, guessing last."""
    types = [each for each in TYPES if any(item.question_type == each for item in items)]
    head = ["readout", "right (95 %)", *types, "ECE", "NLL", "paraphrase: same", "order: changed", "p50"]
    chance = ["guessing", _percent(guessing(items)), *(_percent(guessing(items, each)) for each in types)]
    return [head, *(_line(row, types) for row in rows), [*chance, *[NOTHING] * (len(head) - len(chance))]]


def _line(row: Row, types: Sequence[str]) -> list[str]:
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
        NOTHING if row.p50 is None else f"{row.p50 * 1000:.0f} ms",
    ]


def _counted(share: Share) -> str:
    return f"{_percent(share.value)} of {share.total}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value * 100:.0f} %"


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
