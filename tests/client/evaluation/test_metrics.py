"""Each number beside scikit-learn's or one made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, mean_absolute_error

from client.evaluation.asked import answered, unanswered
from client.evaluation.intervals import share, upper_bound
from client.evaluation.metrics import summarise
from client.evaluation.outcomes import REVERSED, Outcome
from client.evaluation.proper_scores import FLOOR
from client.evaluation.timing import timing
from tests.client.evaluation.made import binary, given, item, noul, outcome, score

EXPECTED = list("abcabcabca")
STATED = np.random.default_rng(7).dirichlet((1, 1, 1), size=len(EXPECTED))
ITEMS = [item(f"i{number}", right, family="xy"[number % 2]) for number, right in enumerate(EXPECTED)]
OUTCOMES = [
    outcome(each, [float(p) for p in row], started=number)
    for number, (each, row) in enumerate(zip(ITEMS, STATED, strict=True))
]


def test_accuracy_brier_and_likelihood_are_scikit_learn_s() -> None:
    whole = summarise(ITEMS, OUTCOMES).whole
    said = ["abc"[place] for place in STATED.argmax(axis=1)]
    assert whole.accuracy.value == pytest.approx(accuracy_score(EXPECTED, said), abs=1e-12)
    assert whole.negative_log_likelihood == pytest.approx(log_loss(EXPECTED, STATED, labels=list("abc")), abs=1e-12)
    told = brier_score_loss(EXPECTED, STATED, labels=list("abc"), scale_by_half=False)
    assert whole.brier == pytest.approx(told, abs=1e-12)


def test_calibration_error_follows_from_scikit_learn_s_curve() -> None:
    tops = [0.505, 0.55, 0.62, 0.68, 0.71, 0.83, 0.88, 0.93, 0.97, 0.99]
    right = [True, False, True, False, True, True, False, True, True, False]
    summary = summarise(*binary(tops, right))
    shares, means = calibration_curve(right, tops, n_bins=10, strategy="uniform")
    counts = [bin_.right.total for bin_ in summary.reliability if bin_.mean is not None]
    assert counts == [2, 2, 1, 2, 3]
    assert [bin_.right.value for bin_ in summary.reliability if bin_.mean is not None] == pytest.approx(shares)
    assert [bin_.mean for bin_ in summary.reliability if bin_.mean is not None] == pytest.approx(means)
    by_hand = sum(count * abs(s - m) for count, s, m in zip(counts, shares, means, strict=True)) / len(tops)
    assert summary.whole.calibration_error == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("total", [1, 3, 10, 29, 78, 152, 1000, 12345])
def test_an_interval_of_none_begins_at_0_and_one_of_all_ends_at_1_exactly(total: int) -> None:
    none, whole = share(0, total), share(total, total)
    assert (none.low, whole.high) == (0.0, 1.0)
    told = binomtest(0, total).proportion_ci(method="wilson")
    assert none.high == pytest.approx(told.high, abs=1e-12)


def test_whoever_has_no_valid_answer_over_the_options_asked_is_told_with_the_reason() -> None:
    asked = [item(f"i{number}", "a", options=2) for number in range(4)]
    other = replace(outcome(asked[2], (0.5, 0.5)), answer=replace(given(asked[2], (0.5, 0.5)), option_ids=("x", "y")))
    outcomes = [outcome(asked[0], (0.6, 0.4)), outcome(asked[1], (0.6, 0.6)), other, outcome(asked[3], None)]
    assert [pair.item.id for pair in answered(asked, outcomes)] == ["i0"]
    assert [(each.item_id, each.code, each.why) for each in unanswered(asked, outcomes)] == [
        ("i1", "no distribution", "the answer is no distribution over its 2 options: 0.6, 0.6"),
        ("i2", "other options", "answered over other options: x, y; asked were a, b"),
        ("i3", "unfit", "unfit: too long"),
    ]


def test_a_top_probability_of_a_bin_s_upper_edge_is_in_it() -> None:
    filled = [bin_ for bin_ in summarise(*binary([1.0, 0.5], [True, True])).reliability if bin_.mean is not None]
    assert [(bin_.low, bin_.high) for bin_ in filled] == [(0.4, 0.5), (0.9, 1.0)]


def test_a_probability_of_zero_for_what_is_right_costs_the_floor_and_is_counted() -> None:
    asked = item("i", "b", options=2)
    whole = summarise([asked], [outcome(asked, (1.0, 0.0))]).whole
    assert whole.negative_log_likelihood == pytest.approx(-math.log(FLOOR))
    assert whole.floored == 1


def test_an_item_without_a_valid_answer_counts_as_wrong_and_not_in_the_scores() -> None:
    bad = [
        outcome(ITEMS[1], None),
        outcome(ITEMS[2], (0.5, math.nan, 0.5)),
        outcome(ITEMS[3], (0.5, 0.2, 0.2)),
        replace(outcome(ITEMS[4], None), answer=given(item("i4", "a", options=2), (0.5, 0.5)), error=None),
    ]
    whole = summarise(ITEMS[:5], [outcome(ITEMS[0], (0.8, 0.1, 0.1)), *bad]).whole
    assert (whole.validity.count, whole.validity.total) == (1, 5)
    assert (whole.accuracy.count, whole.accuracy.total) == (1, 5)
    assert whole.brier == pytest.approx(0.04 + 0.01 + 0.01)


def test_nothing_is_said_where_nothing_was_answered() -> None:
    summary = summarise(ITEMS[:1], [outcome(ITEMS[0], None)])
    assert (summary.whole.brier, summary.whole.negative_log_likelihood, summary.whole.calibration_error) == (None,) * 3
    assert (summary.label_mass, summary.ordinal, summary.paraphrases, summary.flips) == (None,) * 4


def test_each_part_is_measured_as_if_it_were_alone() -> None:
    summary = summarise(ITEMS, OUTCOMES)
    assert [part.name for part in summary.by_family] == ["x", "y"]
    alone = summarise(ITEMS[::2], OUTCOMES[::2]).whole
    assert replace(summary.by_family[0], name="all") == alone
    assert [part.name for part in summary.by_type] == ["choice"]
    assert summary.by_language == ()


@pytest.mark.parametrize(("count", "total"), [(8, 10), (0, 5), (72, 72), (23, 72)])
def test_wilson_s_interval_is_scipy_s(count: int, total: int) -> None:
    found, told = share(count, total), binomtest(count, total).proportion_ci(0.95, method="wilson")
    assert (found.value, found.low, found.high) == pytest.approx((count / total, told.low, told.high), abs=1e-12)


def test_a_share_of_nothing_has_no_interval() -> None:
    found = share(0, 0)
    assert (found.value, found.low, found.high) == (None, None, None)


@pytest.mark.parametrize(("count", "total"), [(0, 59), (3, 40), (19, 20)])
def test_at_its_upper_bound_so_few_errors_have_just_the_probability_of_the_doubt(count: int, total: int) -> None:
    bound = upper_bound(count, total, doubt=0.05)
    tail = sum(math.comb(total, k) * bound**k * (1 - bound) ** (total - k) for k in range(count + 1))
    assert tail == pytest.approx(0.05)
    assert upper_bound(total, total, doubt=0.05) == 1.0


def test_ordinal_error_is_the_mean_absolute_error_of_mode_and_of_mean() -> None:
    items = [score("a", "0"), score("b", "3"), noul("c", "yes")]
    stated = [(0.5, 0.3, 0.1, 0.1), (0.1, 0.6, 0.2, 0.1), (0.9, 0.1)]
    found = summarise(items, [outcome(*each) for each in zip(items, stated, strict=True)]).ordinal
    assert found is not None
    assert found.count == 2
    assert found.of_mode == mean_absolute_error([0, 3], [0, 1])
    assert found.of_mean == pytest.approx(mean_absolute_error([0, 3], [0.8, 1.3]))


def test_paraphrases_agree_where_all_of_a_group_get_one_answer_right_or_wrong() -> None:
    answers = {"g": "bbb", "h": "aab", "alone": "a"}
    items = [
        item(f"{group}{number}", "a", group=group) for group, given_ in answers.items() for number in range(len(given_))
    ]
    chosen = [letter for given_ in answers.values() for letter in given_]
    stated = [tuple(0.8 if letter == each else 0.1 for each in "abc") for letter in chosen]
    found = summarise(items, [outcome(*each) for each in zip(items, stated, strict=True)]).paraphrases
    assert found is not None
    assert (found.groups.count, found.groups.total) == (1, 2)
    assert (found.pairs.count, found.pairs.total) == (4, 6)


def test_a_flip_is_another_option_not_another_place() -> None:
    items = [item("same", "a"), item("other", "a"), item("alike", "a"), item("lost", "a")]
    first = [outcome(each, (0.7, 0.2, 0.1)) for each in items]
    turned = [
        _turned(first[0], {"c": 0.1, "b": 0.3, "a": 0.6}),
        _turned(first[1], {"c": 0.7, "b": 0.2, "a": 0.1}),
        _turned(first[2], {"c": 0.1, "b": 0.2, "a": 0.7}),
    ]
    found = summarise(items, [*first, *turned]).flips
    assert found is not None
    assert (found.flipped.count, found.flipped.total) == (1, 3)
    assert found.moved == pytest.approx((0.1 + 0.6 + 0.0) / 3)


def test_label_mass_is_told_by_its_median_and_the_share_that_is_low() -> None:
    masses = [0.1, 0.49, 0.5, 0.9]
    outcomes = [_massive(each, mass) for each, mass in zip(OUTCOMES, masses, strict=False)]
    found = summarise(ITEMS[:4], outcomes).label_mass
    assert found is not None
    assert found.median == pytest.approx(0.495)
    assert (found.low.count, found.low.total) == (2, 4)


def test_latency_leaves_out_the_first_request_of_each_session_errors_and_reversed_askings() -> None:
    seconds = [9.0, *(float(each) for each in range(1, 21)), 8.0, 30.0]
    outcomes = [
        replace(OUTCOMES[0], item_id=str(n), seconds=s, started=n, began=100.0 * n, session=0 if n < 21 else 1)
        for n, s in enumerate(seconds)
    ]
    outcomes[22] = replace(outcomes[22], answer=None, error="too long")
    turned = replace(OUTCOMES[0], order=REVERSED, seconds=50.0, started=23, began=9000.0)
    found = timing([*outcomes, turned])
    assert found.first == (9.0, 8.0)
    assert (found.p50, found.p95, found.maximum) == (10.0, 19.0, 20.0)
    assert found.sessions == 2


def test_cost_is_price_times_busy_seconds_by_decisions_with_overlaps_counted_once_and_pauses_not_at_all() -> None:
    spans = [(0.0, 10.0), (4.0, 10.0), (100.0, 6.0)]  # 0 to 14, then 100 to 106
    outcomes = [
        replace(OUTCOMES[0], item_id=str(n), began=began, seconds=s, started=n) for n, (began, s) in enumerate(spans)
    ]
    found = timing(outcomes, hourly_price=1.8)
    assert found.busy_seconds == 20.0
    assert found.cost_per_1000 == pytest.approx(1.8 / 3600 * 20 / 3 * 1000)
    assert (found.input_tokens, found.cached_tokens, found.evaluated_tokens) == (300, 120, 180)
    assert timing(outcomes).cost_per_1000 is None


def test_tokens_that_one_answer_does_not_tell_are_not_summed() -> None:
    answer = OUTCOMES[0].answer
    assert answer is not None
    found = timing([OUTCOMES[0], replace(OUTCOMES[1], answer=replace(answer, cached_tokens=None))])
    assert (found.input_tokens, found.cached_tokens, found.evaluated_tokens) == (200, None, None)


def test_answers_are_paired_with_their_items_whatever_the_order_they_came_in() -> None:
    assert [pair.item.id for pair in answered(ITEMS, OUTCOMES[::-1])] == [each.id for each in ITEMS]


def _turned(first: Outcome, stated: dict[str, float]) -> Outcome:
    assert first.answer is not None
    answer = replace(first.answer, option_ids=tuple(stated), probabilities=tuple(stated.values()))
    return replace(first, order=REVERSED, answer=answer)


def _massive(outcome_: Outcome, mass: float) -> Outcome:
    assert outcome_.answer is not None
    return replace(outcome_, answer=replace(outcome_.answer, label_mass=mass))
