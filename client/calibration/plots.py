"""Reliability before and after, of one type of question in one plot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from client.evaluation.reliability import Bin
from client.pages.plots import HEIGHT, INK, MUTED, SERIES, SMALLEST, figure, to_svg

_BEFORE = ("temperature 1", "o", SERIES[1])  # label, marker, colour
_AFTER = ("calibrated, held out", "D", SERIES[0])
_SHIFT = 0.006  # apart, so that intervals of both at one place can be told from each other


def before_and_after(question_type: str, before: Sequence[Bin], after: Sequence[Bin]) -> str:
    """Share of right answers over stated probability, with Wilson intervals; larger marks hold more decisions."""
    drawn, axes = figure(height=HEIGHT + 0.3)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    _series(axes, before, _BEFORE, shift=-_SHIFT)
    _series(axes, after, _AFTER, shift=_SHIFT)
    axes.set(xlim=(0, 1.02), ylim=(-0.02, 1.03), xlabel="stated probability of the answer", ylabel="share right")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    axes.grid(linewidth=0.6)
    handles = [
        Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=5, label=label)
        for label, marker, colour in (_BEFORE, _AFTER)
    ]
    axes.legend(handles=handles, loc="upper left", fontsize=SMALLEST, frameon=False, labelcolor=INK)
    label = f"Reliability of {question_type} questions before and after: share of right answers over stated probability"
    return to_svg(drawn, name=f"reliability-{question_type}", label=label)


def _series(axes: Axes, bins: Sequence[Bin], look: tuple[str, str, str], *, shift: float) -> None:
    _, marker, colour = look
    filled = [each for each in bins if each.mean is not None]
    means = np.array([each.mean for each in filled], dtype=float) + shift
    values = np.array([each.right.value for each in filled], dtype=float)
    reach = np.array([[each.right.low for each in filled], [each.right.high for each in filled]], dtype=float)
    total = sum(each.right.total for each in filled)
    sizes = np.array([16 + 120 * each.right.total / total for each in filled])
    axes.errorbar(means, values, yerr=np.abs(reach - values), fmt="none", ecolor=colour, elinewidth=0.9, alpha=0.6)
    axes.scatter(means, values, s=sizes, marker=marker, color=colour, alpha=0.85, linewidths=0)
