"""A comparison's plots: how far each contestant lies from the baseline, and what quality costs in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, PercentFormatter

from client.comparison.standings import Standing
from client.pages.plots import INK, MUTED, SERIES, SMALLEST, figure, to_svg

_MARKERS = "osD^v"  # of another number than the colours: pairs repeat late


def differences(rows: Sequence[Standing], baseline: str) -> str:
    """Of accuracy, in percentage points, with the paired interval; the baseline is the line at 0."""
    compared = [(row.name, row.against.difference) for row in rows if row.against is not None]
    drawn, axes = figure(height=0.9 + 0.36 * len(compared))
    places = np.arange(len(compared))
    values = np.array([100 * each.value for _, each in compared])
    reach = np.array([[100 * each.low for _, each in compared], [100 * each.high for _, each in compared]])
    axes.axvline(0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.errorbar(
        values, places, xerr=np.abs(reach - values), fmt="o", color=SERIES[0], elinewidth=1.4, capsize=3, markersize=6
    )
    axes.set_yticks(places, [_short(name) for name, _ in compared])
    axes.set(ylim=(len(compared) - 0.4, -0.6), xlabel=f"accuracy minus that of {_short(baseline)}, percentage points")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    axes.grid(axis="x", linewidth=0.6)
    return to_svg(drawn, name="differences", label=f"Differences of accuracy from {baseline} with 95 % intervals")


def quality_and_time(rows: Sequence[Standing]) -> str | None:
    """Accuracy over the median latency; None where no contestant has one."""
    shown = [(row, row.summary.timing.p50) for row in rows]
    points = [(row, 1000 * p50, row.summary.whole.accuracy) for row, p50 in shown if p50 is not None]
    if not points:
        return None
    drawn, axes = figure()
    for number, (row, milliseconds, share) in enumerate(points):
        value, low, high = share.value or 0.0, share.low or 0.0, share.high or 0.0
        axes.errorbar(
            [milliseconds],
            [value],
            yerr=[[value - low], [high - value]],
            fmt=_MARKERS[number % len(_MARKERS)],
            color=SERIES[number % len(SERIES)],
            elinewidth=1,
            capsize=2,
            label=_short(row.name),
        )
    axes.set(ylim=(0, 1.02), xlabel="median latency, ms", ylabel="accuracy")
    axes.set_xlim(0, 1.25 * max(milliseconds for _, milliseconds, _ in points))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    axes.grid(linewidth=0.6)
    axes.legend(loc="upper left", fontsize=SMALLEST, ncols=2, frameon=False, labelcolor=INK)
    return to_svg(drawn, name="quality-time", label="Accuracy with its 95 % interval over the median latency")


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
