"""Logits → probabilities (contract 3.8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from decision_server.model_errors import EngineFailure
from decision_server.readout import Readout, look, read_letters, read_likelihood, read_rotated, softmax

SCORES = st.lists(st.floats(-50, 50), min_size=2, max_size=40)
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def logits(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def letters(values: NDArray[np.float32], label_token_ids: Sequence[int], temperature: float = 1.0) -> Readout:
    return read_letters(look(values, label_token_ids), temperature=temperature)


def in_orders(
    rows: list[NDArray[np.float32]],
    orders: Sequence[tuple[int, ...]],
    label_token_ids: Sequence[int],
    temperature: float = 1.0,
) -> Readout:
    return read_rotated([look(row, label_token_ids) for row in rows], orders, temperature=temperature)


def test_logits_far_apart_give_one_and_zero() -> None:
    assert letters(logits(1000, -1000), (0, 1)).probabilities == (1.0, 0.0)


@given(values=st.lists(FINITE, min_size=3, max_size=300), data=st.data())
def test_probabilities_of_any_finite_logits_are_finite_and_sum_to_one(values: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(2, len(values)))
    ids = data.draw(st.permutations(range(len(values))))[:count]
    found = letters(logits(*values), ids)
    assert abs(math.fsum(found.probabilities) - 1) <= 1e-9
    assert all(0 <= value <= 1 for value in (*found.probabilities, found.allowed_token_mass))


@given(values=st.lists(st.floats(-20, 20, width=32), min_size=3, max_size=40))
def test_probabilities_and_mass_agree_with_plain_exponentials(values: list[float]) -> None:
    found = letters(logits(*values), (2, 0))
    weights = [math.exp(value) for value in values]
    assert found.probabilities == pytest.approx(
        (weights[2] / (weights[0] + weights[2]), weights[0] / (weights[0] + weights[2])), abs=1e-12
    )
    assert found.allowed_token_mass == pytest.approx((weights[0] + weights[2]) / math.fsum(weights), abs=1e-12)


def test_scores_stand_in_the_order_of_the_options() -> None:
    found = letters(logits(0.0, 3.0, 9.0, 1.0), (3, 1))
    assert found.option_logits == (1.0, 3.0)
    assert found.probabilities[0] < found.probabilities[1]
    assert found.full_vocab_argmax_id == 2


def test_a_row_without_labels_has_no_mass_and_still_an_argmax() -> None:
    row = look(logits(1.0, 4.0, 2.0), ())
    assert (row.label_logits, row.label_mass, row.argmax_id) == ((), 0.0, 1)


def test_all_tokens_as_labels_have_all_the_mass() -> None:
    assert letters(logits(1, 2, 3), (0, 1, 2)).allowed_token_mass == pytest.approx(1.0, abs=1e-12)


def test_a_temperature_divides_the_logits_of_the_probabilities_only() -> None:
    found = letters(logits(2.0, 0.0, 1.0), (0, 1), temperature=2.0)
    assert found.probabilities[0] == pytest.approx(float(Fraction(math.e) / Fraction(math.e + 1)), abs=1e-12)
    assert found.option_logits == (2.0, 0.0)
    assert found.allowed_token_mass == letters(logits(2.0, 0.0, 1.0), (0, 1)).allowed_token_mass


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_is_refused_wherever_it_stands(bad: float) -> None:
    with pytest.raises(EngineFailure, match="1 of 3 logits are not finite"):
        letters(logits(1.0, 2.0, bad), (0, 1))


@given(scores=SCORES, data=st.data())
def test_the_order_of_the_scores_changes_no_bit_of_any_probability(scores: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(scores))))
    moved = softmax([scores[index] for index in order])
    assert moved == tuple(softmax(scores)[index] for index in order)


def rotated(content: list[float], bias: list[float]) -> Readout:
    """A model that adds a bias to whatever stands in a place; label p is token p, the last token is no label."""
    count = len(content)
    orders = [tuple((turn + place) % count for place in range(count)) for turn in range(count)]
    rows = [logits(*(content[option] + bias[place] for place, option in enumerate(order)), 0.0) for order in orders]
    return in_orders(rows, orders, range(count))


def test_a_bias_of_places_alone_cancels_out_whatever_the_order_of_the_options() -> None:
    content, bias = [0.5, -1.25, 2.0], [8.0, 0.0, -3.0]
    fair = softmax(content)
    one = rotated(content, bias)
    other = rotated([content[2], content[0], content[1]], bias)
    assert one.probabilities == pytest.approx(fair, abs=1e-12)
    assert (one.probabilities[2], *one.probabilities[:2]) == other.probabilities
    assert one.rotation_spread == other.rotation_spread
    assert one.rotation_spread is not None
    assert one.rotation_spread > 0.9
    assert letters(logits(*(c + b for c, b in zip(content, bias, strict=True))), (0, 1, 2)).probabilities[0] > 0.9


def test_without_a_bias_the_rotations_agree_and_the_spread_is_nothing() -> None:
    read = rotated([0.5, -1.25, 2.0], [0.0, 0.0, 0.0])
    assert read.probabilities == softmax([0.5, -1.25, 2.0])
    assert read.rotation_spread == 0.0


def test_the_mass_of_rotations_is_their_mean_and_the_argmax_is_of_the_first() -> None:
    rows = [logits(0, 0, 0, 0), logits(0, 0, 0, 200)]
    read = in_orders(rows, [(0, 1), (1, 0)], (1, 2))
    assert read.allowed_token_mass == pytest.approx(0.25)
    assert read.full_vocab_argmax_id == 0


def test_a_temperature_divides_the_scores_of_every_readout() -> None:
    orders = [(0, 1), (1, 0)]
    read = in_orders([logits(3, 1, 0), logits(1, 3, 0)], orders, (0, 1), temperature=4.0)
    assert read.option_logits == (3.0, 1.0)
    assert read.probabilities == softmax([0.75, 0.25])
    likely = read_likelihood(1, (-1.0, -2.0), (-4.0, -3.0), (0, 1), (0, 1), temperature=4.0)
    assert likely.option_logits == (3.0, 1.0)
    assert likely.probabilities == softmax([0.75, 0.25])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_log_probability_that_is_not_finite_is_refused(bad: float) -> None:
    for evidence, baseline in (((bad, -1.0), (-1.0, -1.0)), ((-1.0, -1.0), (-1.0, bad))):
        with pytest.raises(EngineFailure, match="not finite"):
            read_likelihood(1, evidence, baseline, (0, 1), (0, 1))
