"""Plots take the page's colours, so that they can be read on a dark page, too."""

from __future__ import annotations

import re

from client.calibration.plots import before_and_after
from client.comparison.contestants import contestants
from client.comparison.plots import differences, quality_and_time
from client.comparison.standings import Run, Standings, standings
from client.evaluation.intervals import share
from client.evaluation.reliability import Bin
from tests.client.comparison.answers import item, outcome
from tests.client.comparison.test_versus import FACTS


def made_up() -> Standings:
    items = [item(f"i{number}") for number in range(12)]
    outcomes = tuple(outcome(each.id, 0.3 + place / 20, started=place) for place, each in enumerate(items))
    runs = [Run(contestant=each, facts=FACTS, outcomes=outcomes) for each in contestants(["x=x.gguf", "y=y.gguf"])]
    return standings(items, runs, data="d", data_sha256="0", baseline="x", concurrency=1, hourly_price=None, seed=1)


def test_no_text_or_line_has_a_colour_of_its_own() -> None:
    told = made_up()
    bins = [Bin(low=0.8, high=0.9, mean=0.85, right=share(3, 5)), Bin(low=0.9, high=1, mean=None, right=share(0, 0))]
    for svg in (
        differences(told.rows, told.baseline),
        quality_and_time(told.rows),
        before_and_after("choice", bins, bins),
    ):
        assert svg is not None
        assert not re.findall(r"#[0-9a-f]{6}\b", svg)
        texts = re.findall(r"<text[^>]*>", svg)
        assert texts
        assert all("var(--" in each for each in texts)


def test_contestants_without_a_latency_have_no_plot_of_it() -> None:
    runs = [Run(contestant=each, facts=FACTS, outcomes=()) for each in contestants(["x=x.gguf", "y=y.gguf"])]
    told = standings(
        [item("i")], runs, data="d", data_sha256="0", baseline="x", concurrency=1, hourly_price=None, seed=1
    )
    assert quality_and_time(told.rows) is None
