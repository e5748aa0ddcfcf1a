"""Plots can be read on a phone: no letters below ten pixels, however narrow the screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from client import pages
from client.calibration.plots import before_and_after
from client.evaluation import plots
from client.evaluation.metrics import summarise
from client.evaluation.thresholds import thresholds
from client.pages.blocks import Link, Links, Plot, Section
from client.pages.page import render
from client.pages.plots import SMALLEST
from client.readouts import picture
from client.readouts.calibrated import Calibrated
from client.readouts.rows import Asked, rows
from tests.client.evaluation.made import binary

ITEMS, OUTCOMES = binary([0.5 + number / 100 for number in range(40)], [number % 3 > 0 for number in range(40)])
SUMMARY = summarise(ITEMS, OUTCOMES)
STYLE = (Path(pages.__file__).parent / "style.css").read_text(encoding="utf-8")
REM = 16  # pixels
DRAWN = {
    "reliability": plots.reliability_diagram(SUMMARY.reliability),
    "coverage": plots.risk_coverage((), len(ITEMS), thresholds(ITEMS, OUTCOMES, [0.05])),
    "families": plots.accuracy_bars(SUMMARY.by_family, SUMMARY.whole),
    "calibration": before_and_after("choice", SUMMARY.reliability, SUMMARY.reliability),
}


def least_width(rule: str) -> float:
    """Pixels, of a rule of the style."""
    found = re.search(rf"^{re.escape(rule)} {{[^}}]*min-width: ([0-9.]+)rem", STYLE, flags=re.MULTILINE)
    assert found is not None
    return float(found[1]) * REM


def width(svg: str) -> float:
    found = re.search(r'viewBox="0 0 ([0-9.]+) ', svg)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("name", DRAWN)
def test_a_plot_s_letters_have_ten_pixels_where_the_page_is_narrowest(name: str) -> None:
    sizes = [float(each) for each in re.findall(r"font(?:-size)?: ([0-9.]+)px", DRAWN[name])]
    assert sizes
    assert min(sizes) * least_width("figure svg") / width(DRAWN[name]) >= 10


def test_the_readouts_plot_s_letters_have_ten_pixels_too() -> None:
    asked = Asked(readout="letters", prompt_version="direct-options-v1", outcomes=tuple(OUTCOMES))
    drawn = picture.svg(rows(ITEMS, asked, Calibrated(verdicts=(), outcomes=())), ITEMS, title="t")
    sizes = [100 * float(each) for each in re.findall(r"scale\((0\.[0-9]+) -", drawn)]  # letters are paths of 100 units
    assert min(sizes) >= SMALLEST
    assert min(sizes) * least_width("figure .whole svg") / width(drawn) >= 10


def test_a_wide_plot_and_links_stand_in_the_page_as_they_should() -> None:
    blocks = (Plot(svg="<svg></svg>", wide=True), Links(text="See:", links=(Link(text="a & b", to="a b/report.html"),)))
    written = render(title="t", lead="l", sections=(Section(heading="h", blocks=blocks),))
    assert '<div class="drawing whole" tabindex="0" role="region" aria-label="h">\n<svg></svg>' in written
    assert '<p>See: <a href="a%20b/report.html">a &amp; b</a></p>' in written
