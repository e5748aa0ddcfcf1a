"""The paired interval and McNemar's p, each against another way to compute it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bootstrap

from client.comparison.paired import mcnemar_p, mean_difference


def test_without_paraphrases_the_interval_is_that_of_the_plain_bootstrap() -> None:
    differences = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], size=120, p=[0.1, 0.6, 0.3])
    found = mean_difference(differences.tolist(), [f"g{number}" for number in range(120)])
    reference = bootstrap(
        (differences,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.value == pytest.approx(float(differences.mean()))
    assert found.low == pytest.approx(float(reference.low), abs=0.01)
    assert found.high == pytest.approx(float(reference.high), abs=0.01)


def test_a_decision_that_is_written_four_times_is_no_four_decisions() -> None:
    differences = np.random.default_rng(4).choice([-1.0, 0.0, 1.0], size=60).tolist()
    once = mean_difference(differences, [f"g{number}" for number in range(60)])
    written_often = [each for each in differences for _ in range(4)]
    grouped = mean_difference(written_often, [f"g{number // 4}" for number in range(240)])
    apart = mean_difference(written_often, [f"g{number}" for number in range(240)])
    assert grouped == once
    assert apart.high - apart.low == pytest.approx((once.high - once.low) / 2, rel=0.1)


def test_groups_of_unequal_size_count_by_their_decisions() -> None:
    large = [(1.0, f"large {number}") for number in range(20) for _ in range(9)]
    small = [(-1.0, f"small {number}") for number in range(20)]
    differences, groups = zip(*large, *small, strict=True)
    found = mean_difference(differences, groups)
    assert found.value == pytest.approx(0.8)
    assert 0.5 < found.low < 0.8 < found.high < 1.0


def test_the_same_input_gives_the_same_interval_in_any_order_of_groups() -> None:
    differences, groups = [1.0, 0.0, -1.0, 1.0, 1.0], ["a", "b", "c", "d", "e"]
    one, other = mean_difference(differences, groups), mean_difference(differences[::-1], groups[::-1])
    assert (one.low, one.high) == (other.low, other.high)
    assert one.value == pytest.approx(other.value)


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (5, 0), (3, 9), (9, 3), (6, 6)])
def test_mcnemar_is_the_exact_two_sided_binomial(only_first: int, only_second: int) -> None:
    discordant, least = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(discordant, k) for k in range(least + 1)) / 2**discordant
    assert mcnemar_p(only_first, only_second) == pytest.approx(min(1.0, 2 * tail))
