"""Scores come back from probabilities, and the temperature that fits them is found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.calibration.cross_validation import LEAST_GROUPS, LEAST_ITEMS, too_few, validate
from client.calibration.fit import LEAST, MOST, fit_temperature, nll_of_each
from client.calibration.folds import fold_of_each
from client.calibration.scores import Scored, probabilities_of, scores_of
from tests.client.calibration.synthetic import mean_nll, overconfident


def scored(scores: tuple[float, ...], expected: int, group: str = "g") -> Scored:
    return Scored(item_id="i", group=group, question_type="choice", scores=scores, expected=expected)


def test_scores_come_back_from_probabilities_whatever_temperature_they_were_served_at() -> None:
    scores = (3.5, -1.25, 0.0, -40.0)
    for served_at in (0.25, 1.0, 1.8, 10.0):
        found, bounded = scores_of(probabilities_of(scores, served_at), served_at, question_type="choice")
        assert not bounded
        for temperature in (0.5, 1.0, 3.0):
            assert probabilities_of(found, temperature) == pytest.approx(
                probabilities_of(scores, temperature), abs=1e-12
            )


def test_a_probability_of_zero_stands_at_the_bound_of_what_its_number_can_say_and_is_told() -> None:
    found, bounded = scores_of((1.0, 0.0), 1.0, question_type="choice")
    assert bounded
    assert found[1] == pytest.approx(-744.44, abs=0.01)
    found, bounded = scores_of((1.0, 0.0), 1.0, question_type="noul")
    assert bounded
    assert found[1] == pytest.approx(-54 * math.log(2))


def test_a_tiny_yes_is_no_bound_since_it_is_told_in_full() -> None:
    found, bounded = scores_of((1e-200, 1.0), 2.0, question_type="noul")
    assert not bounded
    assert found == pytest.approx((2 * math.log(1e-200), 0.0))


def test_the_negative_log_likelihood_is_that_of_the_right_option_alone_or_in_company() -> None:
    items = [scored((1.0, 2.0), 0), scored((0.5, 0.1, -3.0), 1), scored((1000.0, -1000.0), 1)]
    by_hand = [-math.log(probabilities_of(item.scores, 1.7)[item.expected]) for item in items[:2]]
    assert nll_of_each(items, 1.7)[:2] == pytest.approx(by_hand, abs=1e-12)
    assert nll_of_each(items, 2.0)[2] == pytest.approx(1000.0)
    each_its_own = nll_of_each(items, np.asarray([1.7, 2.0, 4.0]))
    assert each_its_own == pytest.approx([nll_of_each([items[0]], 1.7)[0], nll_of_each([items[1]], 2.0)[0], 500.0])


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.5])
def test_the_fit_finds_the_factor_by_which_a_model_is_too_sure(factor: float) -> None:
    assert fit_temperature(overconfident(4000, factor=factor)) == pytest.approx(factor, rel=0.06)


def test_no_other_temperature_of_a_fine_grid_is_better_than_the_fitted_one() -> None:
    items = overconfident(60, factor=1.9)
    fitted = fit_temperature(items)
    grid = np.exp(np.linspace(math.log(LEAST), math.log(MOST), 2000))
    assert mean_nll(items, fitted) <= min(mean_nll(items, float(t)) for t in grid) + 1e-8


def test_a_best_temperature_beyond_a_limit_gives_exactly_the_limit() -> None:
    always_right = [scored((1.0, 0.0), 0) for _ in range(5)]
    always_wrong = [scored((1.0, 0.0), 1) for _ in range(5)]
    assert fit_temperature(always_right) == LEAST
    assert fit_temperature(always_wrong) == MOST


def test_paraphrases_stay_in_one_fold_and_folds_are_filled_evenly_whatever_the_order() -> None:
    groups = [f"g{number // 3}" for number in range(60)]
    folds = fold_of_each(groups, folds=5, seed=1)
    assert {len({fold for fold, group in zip(folds, groups, strict=True) if group == name}) for name in groups} == {1}
    assert {folds.count(fold) for fold in range(5)} == {12}
    backwards = fold_of_each(groups[::-1], folds=5, seed=1)
    assert backwards[::-1] == folds


def test_more_folds_than_groups_are_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="5 given; 2 groups"):
        fold_of_each(["a", "a", "b"], folds=5, seed=1)


def test_overconfidence_is_mended_and_kept_with_an_interval_above_zero() -> None:
    found = validate(overconfident(300, factor=3.0))
    assert found.kept
    assert found.certain
    assert found.nll_before - found.nll_after == pytest.approx(found.improvement.value, abs=1e-12)
    assert found.improvement.low < found.improvement.value < found.improvement.high


def test_what_is_judged_after_was_not_fitted_on() -> None:
    items = overconfident(50, factor=2.0, in_group=2)
    found = validate(items)
    for item, temperature in zip(items, found.of_item, strict=True):
        fold = found.fold_temperatures.index(temperature)
        others = [
            each for each, used in zip(items, found.of_item, strict=True) if found.fold_temperatures.index(used) != fold
        ]
        assert item.group not in {each.group for each in others}
        assert fit_temperature(others) == temperature


def test_a_temperature_that_helps_only_where_it_was_fitted_is_not_kept() -> None:
    """A model that is calibrated already: what a fit finds in a few decisions is chance, and costs on others."""
    found = [validate(overconfident(25, factor=1.0, seed=seed)) for seed in range(12)]
    assert any(not each.kept for each in found)
    for each in found:
        in_sample = mean_nll(list(each.items), 1.0) - mean_nll(list(each.items), each.temperature)
        assert in_sample >= 0.0
        assert each.improvement.value < in_sample


def test_the_same_decisions_give_the_same_numbers() -> None:
    assert validate(overconfident(40, factor=2.0)) == validate(overconfident(40, factor=2.0))


def test_too_few_decisions_or_groups_are_refused_with_how_many_are_needed() -> None:
    few = overconfident(LEAST_ITEMS - 1, factor=2.0)
    assert f"{LEAST_ITEMS - 1} answered decisions" in str(too_few(few))
    assert f"{LEAST_ITEMS} in {LEAST_GROUPS} are needed" in str(too_few(few))
    assert too_few(overconfident(LEAST_ITEMS, factor=2.0)) is None
    assert "in 5 groups" in str(too_few(overconfident(20, factor=2.0, in_group=4)))
