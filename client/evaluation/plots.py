"""The report's plots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import PercentFormatter

from client.evaluation.asked import Answered
from client.evaluation.metrics import Part
from client.evaluation.reliability import Bin
from client.evaluation.thresholds import ALL, Threshold
from client.pages.plots import HEIGHT, INK, MUTED, SERIES, SMALLEST, figure, to_svg


def reliability_diagram(bins: Sequence[Bin]) -> str:
    """Share of right answers over stated probability, with Wilson intervals; the counts stand below."""
    drawn, axes = figure(height=HEIGHT + 0.5)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    filled = [each for each in bins if each.mean is not None]
    means = np.array([each.mean for each in filled])
    values = np.array([each.right.value for each in filled], dtype=float)
    reach = np.array([[each.right.low for each in filled], [each.right.high for each in filled]], dtype=float)
    axes.errorbar(
        means,
        values,
        yerr=np.abs(reach - values),
        fmt="o",
        color=SERIES[0],
        ecolor=SERIES[0],
        elinewidth=1,
        capsize=2,
        markersize=5,
    )
    for each in filled:
        axes.annotate(
            str(each.right.total), (each.mean or 0.0, -0.085), ha="center", va="center", color=INK, size=SMALLEST
        )
    axes.annotate("n", (-0.015, -0.085), ha="right", va="center", color=MUTED, size=SMALLEST)
    axes.set(xlim=(0, 1.02), ylim=(-0.13, 1.03), xlabel="stated probability of the answer", ylabel="share right")
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    _percent(axes.xaxis)
    _percent(axes.yaxis)
    axes.grid(linewidth=0.6)
    return to_svg(drawn, name="reliability", label="Reliability: share of right answers over stated probability")


def risk_coverage(pairs: Sequence[Answered], asked: int, thresholds: Sequence[Threshold]) -> str:
    """The error of what is automated, over how much is: the surest answers first. thresholds: marked where found."""
    drawn, axes = figure()
    ranked = sorted(pairs, key=lambda pair: -pair.given.top_probability)
    tops = np.array([pair.given.top_probability for pair in ranked])
    ends = np.append(tops[1:] != tops[:-1], True) if len(tops) else np.array([], dtype=bool)  # equal ones go together
    counts = np.arange(1, len(ranked) + 1)
    errors = np.cumsum([not pair.right for pair in ranked]) / np.maximum(counts, 1)
    axes.step(counts[ends] / asked, errors[ends], color=SERIES[0], linewidth=1.6, where="post")
    for threshold in thresholds:
        if threshold.scope == ALL:
            axes.axhline(threshold.risk, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
            for cut, marker, colour in ((threshold.likely, "o", SERIES[1]), (threshold.assured, "D", SERIES[2])):
                if cut is not None:
                    place = cut.automated.count / asked, cut.wrong.count / cut.wrong.total
                    axes.plot(*place, marker=marker, color=colour, markersize=6)
    axes.set(xlim=(0, 1.02), ylim=(0, None), xlabel="share automated, the surest first", ylabel="of those, wrong")
    _percent(axes.xaxis)
    _percent(axes.yaxis)
    axes.grid(linewidth=0.6)
    return to_svg(drawn, name="coverage", label="Risk-coverage curve: error over the share that is automated")


def accuracy_bars(parts: Sequence[Part], whole: Part) -> str:
    """A bar for each part with its Wilson interval, and a line for all."""
    drawn, axes = figure(height=0.8 + 0.34 * len(parts))
    places = np.arange(len(parts))
    values = np.array([part.accuracy.value for part in parts], dtype=float)
    reach = np.array([[part.accuracy.low for part in parts], [part.accuracy.high for part in parts]], dtype=float)
    axes.barh(places, values, height=0.62, color=SERIES[0], alpha=0.75)
    axes.errorbar(values, places, xerr=np.abs(reach - values), fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    if whole.accuracy.value is not None:
        axes.axvline(whole.accuracy.value, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_yticks(places, [f"{_short(part.name)} ({part.accuracy.total})" for part in parts])
    axes.set(xlim=(0, 1), ylim=(len(parts) - 0.4, -0.6))
    _percent(axes.xaxis)
    axes.grid(axis="x", linewidth=0.6)
    return to_svg(drawn, name="families", label="Accuracy of each family with its 95 % interval")


def _percent(axis: object) -> None:
    axis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))  # type: ignore[attr-defined]


def _short(name: str, most: int = 24) -> str:
    text = name or "(none)"
    return text if len(text) <= most else f"{text[: most - 1]}…"
