"""Who flips on what, and what stands in the table, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from client.comparison.cells import text_tables
from client.comparison.contestants import contestants
from client.comparison.facts import Facts, facts_of
from client.comparison.page import page
from client.comparison.standings import Run, standings
from client.comparison.versus import verdicts, versus
from tests.client.comparison.answers import item, outcome

ITEMS = [item("one", group="g"), item("two", group="g"), item("three"), item("four", expected="b")]
FIRST = [outcome("one", 0.9), outcome("two", 0.2), outcome("three", 0.8), outcome("four", 0.7)]
SECOND = [outcome("one", 0.9), outcome("two", 0.6), outcome("three", None), outcome("four", 0.1)]
FACTS = Facts(model="m", gguf_sha256=None, gguf_bytes=None, llama_cpp=None, n_threads=None, n_gpu_layers=None)


def test_flips_are_told_by_who_gained_and_a_missing_answer_is_a_wrong_one() -> None:
    found = versus(ITEMS, verdicts(ITEMS, FIRST), verdicts(ITEMS, SECOND), names=("x", "y"), seed=1)
    assert [flip.item.id for flip in found.gained] == ["two", "four"]
    assert [flip.item.id for flip in found.lost] == ["three"]
    assert found.lost[0].other.answer is None
    assert found.lost[0].baseline.probability == 0.8
    assert found.changed == 3
    assert found.difference.value == pytest.approx(1 / 4)
    assert found.mcnemar == 1.0
    assert not found.certain


def test_a_contestant_against_itself_differs_in_nothing() -> None:
    same = verdicts(ITEMS, FIRST)
    found = versus(ITEMS, same, same, names=("x", "y"), seed=1)
    assert (found.changed, found.gained, found.lost) == (0, (), ())
    assert (found.difference.low, found.difference.value, found.difference.high) == (0.0, 0.0, 0.0)


def test_better_on_every_decision_is_certain() -> None:
    items = [item(f"i{number}") for number in range(30)]
    wrong = verdicts(items, [outcome(each.id, 0.1) for each in items])
    right = verdicts(items, [outcome(each.id, 0.9) for each in items])
    assert versus(items, wrong, right, names=("x", "y"), seed=1).certain
    assert versus(items, right, wrong, names=("x", "y"), seed=1).certain


def test_a_group_named_like_an_item_joins_nothing() -> None:
    """An item without a group is one of its own."""
    items = [item("one", group="two"), item("two"), item("three", group="two")]
    told = standings(
        items,
        [Run(contestant=each, facts=FACTS, outcomes=()) for each in contestants(["x=x.gguf", "y=y.gguf"])],
        data="d",
        data_sha256="0",
        baseline="x",
        concurrency=1,
        hourly_price=None,
        seed=1,
    )
    assert told.groups == 2


def test_rates_and_cost_come_from_the_seconds_in_which_something_was_asked() -> None:
    items = [item(f"i{number}") for number in range(4)]
    outcomes = tuple(outcome(each.id, 0.9, started=place, seconds=0.5) for place, each in enumerate(items))
    runs = [
        Run(contestant=each, facts=FACTS, outcomes=outcomes) for each in contestants(["x=x.gguf,price=3.6", "y=y.gguf"])
    ]
    told = standings(items, runs, data="d", data_sha256="0", baseline="x", concurrency=1, hourly_price=7.2, seed=1)
    x, y = told.rows
    assert x.decisions_per_second == pytest.approx(2.0)
    assert x.tokens_per_second == pytest.approx(20.0)
    assert x.summary.timing.cost_per_1000 == pytest.approx(3.6 / 3600 * 0.5 * 1000)
    assert y.summary.timing.cost_per_1000 == pytest.approx(7.2 / 3600 * 0.5 * 1000)
    assert (x.against, y.against is None) == (None, False)


def test_the_page_says_of_each_how_many_were_asked_at_once_where_that_changed() -> None:
    items = [item("one"), item("two")]
    counts = {"x": (1, 1), "y": (1, 4)}
    runs = [
        Run(
            contestant=each,
            facts=FACTS,
            outcomes=tuple(
                replace(outcome(asked.id, 0.9, started=place), concurrency=counts[each.name][place])
                for place, asked in enumerate(items)
            ),
        )
        for each in contestants(["x=x.gguf", "y=y.gguf"])
    ]

    def written(shown: list[Run]) -> str:
        return page(
            standings(items, shown, data="d", data_sha256="0", baseline="x", concurrency=4, hourly_price=None, seed=1)
        )

    assert "was asked alone, x 1; y 1, then 4 at once;" in written(runs)
    assert "was asked alone, 1 at once;" in written([runs[0], replace(runs[1], outcomes=runs[0].outcomes)])


def test_the_tables_have_a_row_for_each_and_no_column_that_says_nothing() -> None:
    outcomes = tuple(outcome(each.id, 0.9, started=place) for place, each in enumerate(ITEMS))
    runs = [Run(contestant=each, facts=FACTS, outcomes=outcomes) for each in contestants(["x=x.gguf", "y=y.gguf"])]
    told = standings(ITEMS, runs, data="d", data_sha256="0", baseline="y", concurrency=1, hourly_price=None, seed=1)
    quality, taken = text_tables(told.rows).split("\n\n")
    heading, first, second = quality.splitlines()
    assert "accuracy" in heading
    assert first.startswith("x ")
    assert "+0.0 (+0.0 to +0.0)" in first
    assert "baseline" in second
    assert len({len(line) for line in (heading, first, second)}) == 1
    assert "p50" in taken
    assert "memory" not in taken
    assert "cost/1000" not in taken


def test_what_an_answer_says_of_its_model_in_another_shape_is_not_taken() -> None:
    told = facts_of({"model": {"gguf": {"sha256": 5, "bytes": True}, "n_threads": "2"}}, model="m")
    assert told == FACTS
    assert facts_of({"model": "m"}, model="m") == FACTS
