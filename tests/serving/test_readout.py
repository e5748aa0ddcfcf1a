"""Logits → probabilities (contract 3.8)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from decision_server.model_errors import EngineFailure
from decision_server.readout import read_letters

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def logits(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def test_logits_far_apart_give_one_and_zero() -> None:
    assert read_letters(logits(1000, -1000), (0, 1)).probabilities == (1.0, 0.0)


@given(values=st.lists(FINITE, min_size=3, max_size=300), data=st.data())
def test_probabilities_of_any_finite_logits_are_finite_and_sum_to_one(values: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(2, len(values)))
    ids = data.draw(st.permutations(range(len(values))))[:count]
    found = read_letters(logits(*values), ids)
    assert abs(math.fsum(found.probabilities) - 1) <= 1e-9
    assert all(0 <= value <= 1 for value in (*found.probabilities, found.allowed_token_mass))


@given(values=st.lists(st.floats(-20, 20, width=32), min_size=3, max_size=40))
def test_probabilities_and_mass_agree_with_plain_exponentials(values: list[float]) -> None:
    found = read_letters(logits(*values), (2, 0))
    weights = [math.exp(value) for value in values]
    assert found.probabilities == pytest.approx(
        (weights[2] / (weights[0] + weights[2]), weights[0] / (weights[0] + weights[2])), abs=1e-12
    )
    assert found.allowed_token_mass == pytest.approx((weights[0] + weights[2]) / math.fsum(weights), abs=1e-12)


def test_scores_stand_in_the_order_of_the_options() -> None:
    found = read_letters(logits(0.0, 3.0, 9.0, 1.0), (3, 1))
    assert found.option_logits == (1.0, 3.0)
    assert found.probabilities[0] < found.probabilities[1]
    assert found.full_vocab_argmax_id == 2


def test_all_tokens_as_labels_have_all_the_mass() -> None:
    assert read_letters(logits(1, 2, 3), (0, 1, 2)).allowed_token_mass == pytest.approx(1.0, abs=1e-12)


def test_a_temperature_divides_the_logits_of_the_probabilities_only() -> None:
    found = read_letters(logits(2.0, 0.0, 1.0), (0, 1), temperature=2.0)
    assert found.probabilities[0] == pytest.approx(float(Fraction(math.e) / Fraction(math.e + 1)), abs=1e-12)
    assert found.option_logits == (2.0, 0.0)
    assert found.allowed_token_mass == read_letters(logits(2.0, 0.0, 1.0), (0, 1)).allowed_token_mass


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_is_refused_wherever_it_stands(bad: float) -> None:
    with pytest.raises(EngineFailure, match="1 of 3 logits are not finite"):
        read_letters(logits(1.0, 2.0, bad), (0, 1))
