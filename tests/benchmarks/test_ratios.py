from __future__ import annotations

import pytest

from benchmarks.ratios import paired_ratio, slope


def test_a_ratio_is_the_median_of_the_paired_ones_whatever_the_size_of_the_pairs() -> None:
    ratio = paired_ratio([[2.0, 400.0], [9.0]], [[1.0, 100.0], [3.0]], seed=1)
    assert ratio.value == 3.0  # of 2, 4 and 3; the ratio of the sums would be 3.95
    assert (ratio.pairs, ratio.rounds) == (3, 2)


def test_the_interval_holds_the_median_and_is_as_wide_as_the_rounds_differ() -> None:
    steady = paired_ratio([[2.0, 2.0]] * 8, [[1.0, 1.0]] * 8, seed=1)
    assert (steady.low, steady.value, steady.high) == (2.0, 2.0, 2.0)
    shaky = paired_ratio([[1.0 + number] for number in range(9)], [[1.0]] * 9, seed=1)
    assert 1.0 <= shaky.low < shaky.value == 5.0 < shaky.high <= 9.0


def test_equal_seeds_give_equal_intervals() -> None:
    tops = [[1.0, 2.5], [1.7, 0.3], [4.0, 2.2], [3.3, 1.9]]
    assert paired_ratio(tops, [[1.0, 1.1]] * 4, seed=5) == paired_ratio(tops, [[1.0, 1.1]] * 4, seed=5)


@pytest.mark.parametrize(
    ("top", "bottom"), [([], []), ([[]], [[]]), ([[1.0]], [[1.0, 2.0]]), ([[1.0]], [[1.0], [1.0]])]
)
def test_what_cannot_be_paired_is_refused(top: list[list[float]], bottom: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"pairs|argument"):
        paired_ratio(top, bottom, seed=1)


def test_a_slope_is_that_of_the_straight_line_nearest_to_the_points() -> None:
    assert slope([(0, 5.0), (10, 25.0), (20, 45.0)]) == 2.0
    assert slope([(0, 0.0), (1, 3.0), (2, 3.0), (3, 0.0)]) == 0.0
    with pytest.raises(ValueError, match="two places"):
        slope([(1, 2.0), (1, 3.0)])
