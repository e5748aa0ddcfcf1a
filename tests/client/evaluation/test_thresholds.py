"""Cuts by hand, what an assured one promises, and that the server abstains exactly where a cut says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from client.decisions import Decision, DecisionClient
from client.evaluation.intervals import upper_bound
from client.evaluation.outcomes import keep
from client.evaluation.report_thresholds import lines
from client.evaluation.thresholds import LEAST, STEPS, is_automated, thresholds
from tests.client.evaluation.made import binary, item, noul, outcome
from tests.serving.server import Server


def test_the_likely_cut_is_the_lowest_at_which_errors_stay_in_the_budget() -> None:
    tops = [0.99 - 0.01 * place for place in range(20)]
    right = [place not in (5, 15, 17, 18, 19) for place in range(20)]
    (found,) = thresholds(*binary(tops, right), [0.1])
    assert found.likely is not None
    # of the first 15 one is wrong, of the first 16 two: 12.5 %
    assert found.likely.abstain_below == tops[14]
    assert (found.likely.automated.count, found.likely.automated.total) == (15, 20)
    assert (found.likely.wrong.count, found.likely.wrong.total) == (1, 15)


def test_answers_of_equal_probability_are_automated_together() -> None:
    tops = [0.9] * 12 + [0.8] * 8
    right = [True] * 12 + [True] * 4 + [False] * 4
    (found,) = thresholds(*binary(tops, right), [0.1])
    assert found.likely is not None
    assert (found.likely.abstain_below, found.likely.automated.count) == (0.9, 12)


def test_no_cut_is_stated_for_fewer_answers_than_say_anything() -> None:
    tops = [0.99 - 0.01 * place for place in range(20)]
    right = [place < LEAST - 1 for place in range(20)]
    (found,) = thresholds(*binary(tops, right), [0.05])
    assert found.likely is None
    assert found.assured is None


def test_what_was_not_answered_is_never_automated() -> None:
    items, outcomes = binary([0.9] * 10, [True] * 10)
    silent = item("silent", "a")
    (found,) = thresholds([*items, silent], [*outcomes, outcome(silent, None)], [0.05])
    assert found.likely is not None
    assert (found.likely.automated.count, found.likely.automated.total) == (10, 11)


def test_each_type_of_question_has_its_own_cut_where_there_are_several() -> None:
    items, outcomes = binary([0.9] * 10, [True] * 10)
    nouls = [noul(f"n{each}", "no") for each in range(10)]
    found = thresholds([*items, *nouls], [*outcomes, *(outcome(each, (0.7, 0.3)) for each in nouls)], [0.05, 0.5])
    assert [(each.risk, each.scope) for each in found] == [
        (risk, scope) for risk in (0.05, 0.5) for scope in ("all", "choice", "noul")
    ]
    assert [each.likely and each.likely.abstain_below for each in found] == [0.9, 0.9, None, 0.7, 0.9, None]


def test_the_assured_cut_is_the_lowest_tested_one_whose_bound_is_in_the_budget() -> None:
    tops = [1 - place / 1000 for place in range(300)]
    right = [place < 200 for place in range(300)]
    (found,) = thresholds(*binary(tops, right), [0.05])
    assert found.assured is not None
    # 60 % of 300 are the first 180, all right; of the first 210, 10 are wrong
    assert (found.assured.automated.count, found.assured.wrong.count) == (180, 0)
    assert found.assured.bound == upper_bound(0, 180, doubt=0.05 / STEPS)
    assert found.likely is not None
    assert found.likely.abstain_below < found.assured.abstain_below


def test_an_assured_cut_keeps_its_promise_and_a_likely_one_often_does_not() -> None:
    """Answers are wrong by a known law: at top probability t, with 1 − t. So a cut's true error is (1 − cut) / 2."""
    random = np.random.default_rng(3)
    broken = {"likely": 0, "assured": 0}
    for _ in range(60):
        tops = [float(each) for each in random.uniform(0.5, 1, 500)]
        (found,) = thresholds(*binary(tops, [random.uniform() < top for top in tops]), [0.2])
        assert found.likely is not None
        assert found.assured is not None
        broken["likely"] += (1 - found.likely.abstain_below) / 2 > 0.2
        broken["assured"] += (1 - found.assured.abstain_below) / 2 > 0.2
    assert broken["assured"] <= 3
    assert broken["likely"] > 15


def test_a_terminal_is_told_the_very_number_to_send() -> None:
    items, outcomes = binary([1 / 3 + 0.5] * 10, [True] * 10)
    likely, assured = lines(thresholds(items, outcomes, [0.05]))
    assert f"abstain_below {1 / 3 + 0.5!r} automates 100.0 %, 0 of 10 wrong (0.0 to 27.8 %)" in likely
    assert assured.endswith("all questions, assured: no cut does")


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_server_abstains_exactly_where_a_cut_leaves_an_answer_to_a_person(tiny_server: Server, share: float) -> None:
    asked = [item(f"d{number}", "a") for number in range(12)]
    with DecisionClient.http(f"http://127.0.0.1:{tiny_server.port}") as client:
        decisions = [each.question for each in asked if isinstance(each.question, Decision)]
        given = [keep(client.decide(each)) for each in decisions]
        cut = sorted(each.top_probability for each in given)[int(share * len(given))]
        again = [client.decide(replace(each, abstain_below=cut)) for each in decisions]
    said = [each.abstained for each in again]
    assert said == [not is_automated(each, cut) for each in given]
    assert sorted(set(map(bool, said))) == [False, True]
