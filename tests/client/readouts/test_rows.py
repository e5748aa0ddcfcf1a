"""The table of readouts: a calibration changes how sure an answer is and nothing else, and is judged on unseen ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from client.calibration.verdicts import NOT_FITTED
from client.evaluation.item import Item
from client.evaluation.outcomes import REVERSED, Outcome
from client.readouts import document, picture, table
from client.readouts.calibrated import Calibrated, calibrated
from client.readouts.rows import Asked, guessing, rows
from tests.client.evaluation.made import item, noul, outcome, score

VERSION = "direct-options-v1"


def overconfident(count: int = 40) -> tuple[list[Item], list[Outcome]]:
    """Always 0.99 sure, right two times in four."""
    items = [item(f"i{number}", "abac"[number % 4]) for number in range(count)]
    return items, [
        replace(outcome(each, (0.99, 0.006, 0.004), started=number), seconds=0.1 * number)
        for number, each in enumerate(items)
    ]


def fitted(items: list[Item], outcomes: list[Outcome]) -> Calibrated:
    return calibrated(items, outcomes, readout="letters", prompt_version=VERSION)


def asked(outcomes: list[Outcome]) -> Asked:
    return Asked(readout="letters", prompt_version=VERSION, outcomes=tuple(outcomes))


def test_a_calibrated_row_has_the_same_right_answers_and_times_and_better_probabilities() -> None:
    items, outcomes = overconfident()
    plain, better = rows(items, asked(outcomes), fitted(items, outcomes))
    assert (plain.name, better.name) == ("letters", "letters, calibrated")
    assert plain.temperatures is None
    assert better.temperatures is not None
    assert better.temperatures["choice"] > 1
    assert plain.whole.accuracy.count == better.whole.accuracy.count == 20
    assert (plain.p50, plain.p95) == (better.p50, better.p95)
    assert plain.whole.calibration_error == pytest.approx(0.49)
    assert better.whole.calibration_error is not None
    assert better.whole.calibration_error < 0.2
    assert plain.whole.negative_log_likelihood is not None
    assert better.whole.negative_log_likelihood is not None
    assert better.whole.negative_log_likelihood < plain.whole.negative_log_likelihood


def test_each_answer_is_calibrated_by_the_temperature_of_its_own_fold() -> None:
    items, outcomes = overconfident()
    found = fitted(items, outcomes)
    (verdict,) = found.verdicts
    assert verdict.validated is not None
    used = [each.answer.temperature for each in found.outcomes if each.answer is not None]
    assert used == list(verdict.validated.of_item)
    assert len(set(used)) > 1
    for each, temperature in zip(found.outcomes, used, strict=True):
        assert each.answer is not None
        weights = [p ** (1 / temperature) for p in (0.99, 0.006, 0.004)]
        assert each.answer.probabilities == pytest.approx([weight / math.fsum(weights) for weight in weights])


def test_a_type_with_too_few_decisions_has_no_calibrated_row() -> None:
    items, outcomes = overconfident(12)
    found = fitted(items, outcomes)
    assert [each.status for each in found.verdicts] == [NOT_FITTED]
    assert [row.name for row in rows(items, asked(outcomes), found)] == ["letters"]


def test_reversed_askings_count_for_the_order_alone() -> None:
    items, outcomes = overconfident()
    turned = [replace(outcome(each, (0.2, 0.5, 0.3), order=REVERSED, started=100)) for each in items[:8]]
    plain, better = rows(items, asked([*outcomes, *turned]), fitted(items, [*outcomes, *turned]))
    for row in (plain, better):
        assert row.flipped is not None
        assert (row.flipped.count, row.flipped.total) == (8, 8)
        assert row.whole.accuracy.total == 40


def test_guessing_is_the_mean_of_one_over_the_number_of_options() -> None:
    items = [item("a", "a", options=2), item("b", "a", options=4), noul("c", "yes"), score("d", "0", levels=5)]
    assert guessing(items) == pytest.approx((1 / 2 + 1 / 4 + 1 / 2 + 1 / 5) / 4)
    assert guessing(items, "choice") == pytest.approx(3 / 8)
    assert guessing(items, "score") == pytest.approx(0.2)
    assert guessing(items[:2], "noul") is None


def test_the_table_has_a_line_for_each_row_and_a_column_for_each_type_in_the_set() -> None:
    items, outcomes = overconfident()
    made = rows(items, asked(outcomes), fitted(items, outcomes))
    head, plain, better, chance = table.cells(made, items)
    assert head[:3] == ["readout", "right (95 %)", "choice"]
    assert "noul" not in head
    assert plain[:3] == ["letters", "50 % (35 %–65 %)", "50 % of 40"]
    assert better[0] == "letters, calibrated"
    assert chance[:3] == ["guessing", "33 %", "33 %"]
    assert {len(line) for line in (head, plain, better, chance)} == {len(head)}
    assert len(table.markdown(made, items).splitlines()) == 5
    assert len(table.terminal(made, items).splitlines()) == 4


def test_the_page_to_be_kept_tells_times_as_multiples_of_the_first_row() -> None:
    items, outcomes = overconfident()
    first = rows(items, asked(outcomes), fitted(items, outcomes))[0]
    made = [replace(first, p50=0.2), replace(first, p50=0.3), replace(first, p50=None)]
    assert [line[-1] for line in table.cells(made, items)] == ["p50", "200 ms", "300 ms", "–", "–"]
    kept = [line.rstrip(" |").rsplit(" ", 1)[-1] for line in table.markdown(made, items).splitlines()]
    assert kept == ["letters", "---:", "1.00", "1.50", "–", "–"]


def test_equal_rows_are_drawn_by_equal_bytes_and_written_as_equal_json() -> None:
    items, outcomes = overconfident()
    made = rows(items, asked(outcomes), fitted(items, outcomes))
    first, second = (picture.svg(made, items, title="A model") for _ in range(2))
    assert first == second
    measured = document.Measured(
        data="made", data_sha256="0" * 64, model="m", target="m.gguf", target_sha256=None, day="2000-01-01", machine="x"
    )
    told = json.loads(document.document(measured, made, items, ()))
    assert [row["name"] for row in told["rows"]] == ["letters", "letters, calibrated"]
    assert told["guessing"] == {"all": pytest.approx(1 / 3), "choice": pytest.approx(1 / 3)}
