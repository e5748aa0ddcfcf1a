"""Rows as one plot: what each readout got right by type of question, and whether its probabilities can be believed.

A light card with its own background, so that it reads alike on light and dark pages. Equal rows, equal bytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from client.evaluation.item import Item
from client.evaluation.metrics import Part
from client.pages.plots import SMALLEST
from client.readouts.rows import TYPES, Row, guessing

_INK, _PAPER, _GRID = "#1f2933", "#ffffff", "#e4e8ec"
_COLOURS = {"letters": "#7a8ba6", "letters-rotated": "#b08a3e", "likelihood": "#1b7f6b"}
_OTHER = "#a65a5a"
_STYLE: Any = {"svg.hashsalt": "readouts", "svg.fonttype": "path", "font.size": 10, "text.color": _INK,
          "axes.edgecolor": "#c5ccd3"}  # fmt: skip
HEIGHT = 0.22


def svg(rows: Sequence[Row], items: Sequence[Item], *, title: str) -> str:
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(11.2, 4.6), facecolor=_PAPER)
        right, sure = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _accuracy(right, [row for row in rows if row.temperatures is None], items)
        _reliability(sure, rows)
        for panel in (right, sure):
            panel.set_facecolor(_PAPER)
            panel.tick_params(colors=_INK, length=0)
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_axisbelow(True)
        figure.suptitle(title, fontsize=12, y=0.98)
        figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.98))
        written = io.StringIO()
        figure.savefig(written, format="svg", facecolor=_PAPER, metadata={"Date": None})
    return written.getvalue()


def _accuracy(panel: Any, rows: Sequence[Row], items: Sequence[Item]) -> None:
    """Of plain rows: a calibration changes no answer."""
    names = ["all", *(each for each in TYPES if any(item.question_type == each for item in items))]
    for place, row in enumerate(rows):
        parts: dict[str, Part] = {"all": row.whole, **{part.name: part for part in row.by_type}}
        offset = (place - (len(rows) - 1) / 2) * (HEIGHT + 0.02)
        for line, name in enumerate(names):
            share = parts[name].accuracy
            if share.value is None or share.low is None or share.high is None:
                continue
            panel.barh(
                line + offset, share.value, HEIGHT, color=_COLOURS.get(row.readout, _OTHER),
                label=row.name if line == 0 else None,
                xerr=[[max(0.0, share.value - share.low)], [max(0.0, share.high - share.value)]],
                error_kw={"ecolor": _INK, "elinewidth": 0.8},
            )  # fmt: skip
            panel.text(share.high + 0.01, line + offset, f"{share.value * 100:.0f} %", va="center", fontsize=SMALLEST)
    for line, name in enumerate(names):
        chance = guessing(items, None if name == "all" else name)
        panel.plot([chance, chance], [line - 0.42, line + 0.42], color=_INK, linewidth=1.0, linestyle=":",
                   label="guessing" if line == 0 else None)  # fmt: skip
    counts = [sum(name in ("all", item.question_type) for item in items) for name in names]
    panel.set_yticks(range(len(names)), [f"{name}\n({count})" for name, count in zip(names, counts, strict=True)])
    panel.set_ylim(len(names) - 0.45, -0.55)
    panel.set_xlim(0, 1.08)
    panel.set_xlabel("share of right answers, with its 95 % interval", fontsize=SMALLEST)
    panel.xaxis.grid(True, color=_GRID, linewidth=0.8)
    panel.legend(frameon=False, fontsize=SMALLEST, loc="lower right")


def _reliability(panel: Any, rows: Sequence[Row]) -> None:
    """The readout with the most right answers, as it is and calibrated; a bin's mark is as large as it is full."""
    best = max(rows, key=lambda row: row.whole.accuracy.count)
    panel.plot([0, 1], [0, 1], color=_INK, linewidth=0.8, linestyle=":")
    for row in rows:
        if row.readout != best.readout:
            continue
        full = [each for each in row.bins if each.mean is not None]
        colour = _COLOURS.get(row.readout, _OTHER) if row.temperatures is None else _OTHER
        panel.plot([each.mean for each in full], [each.right.value for each in full], color=colour, linewidth=1.0,
                   label=f"{row.name}: ECE {row.whole.calibration_error or 0.0:.3f}")  # fmt: skip
        panel.scatter([each.mean for each in full], [each.right.value for each in full],
                      s=[4 + 3 * each.right.total for each in full], color=colour, alpha=0.8)  # fmt: skip
    panel.set_xlim(0, 1.02)
    panel.set_ylim(0, 1.02)
    panel.set_xlabel("probability of the answer given", fontsize=SMALLEST)
    panel.set_ylabel("share of right answers", fontsize=SMALLEST)
    panel.grid(True, color=_GRID, linewidth=0.8)
    panel.legend(frameon=False, fontsize=SMALLEST, loc="upper left")
