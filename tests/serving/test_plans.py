"""Scores of engine tasks → the answer of a decision, a plan a readout."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_server.plans import Likelihood, Reading, RotatedLetters, reading, separate
from decision_server.scoring import Score, ScoringTask

TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1, max_size=12, unique=True)


def scored(logits: list[float], *continuations: list[float]) -> Reading:
    score = Score(
        logits=np.array(logits, dtype=np.float32),
        cached_tokens=0,
        evaluated_tokens=1,
        forward_seconds=0.0,
        continuation_logprobs=tuple(np.array(values) for values in continuations),
    )
    return reading(score, ())


def test_a_likelihood_is_the_gain_over_the_baseline_and_equal_texts_get_equal_shares() -> None:
    task = ScoringTask(tokens=(1,), continuations=((5, 6), (7,)))
    plan = Likelihood(task=task, baseline=task, text_of_option=(1, 0, 1))
    read = plan.read([scored([0.0, 1.0], [-1.0, -2.0], [-4.0])], (-5.0, -4.5), temperature=1.0)
    assert plan.answer_token_ids == (7, 5, 7)
    assert read.option_logits == (0.5, 2.0, 0.5)
    weights = [math.exp(0.5), math.exp(2.0), math.exp(0.5)]
    assert read.probabilities == pytest.approx([weight / sum(weights) for weight in weights], abs=1e-12)
    assert read.probabilities[0] == read.probabilities[2]
    assert read.allowed_token_mass == pytest.approx(math.exp(-3) + math.exp(-4))
    assert read.full_vocab_argmax_id == 1
    assert read.rotation_spread is None


def test_a_likelihood_is_never_read_without_its_baseline() -> None:
    task = ScoringTask(tokens=(1,), continuations=((5,),))
    with pytest.raises(ValueError, match="baseline"):
        Likelihood(task=task, baseline=task, text_of_option=(0,)).read([scored([0.0], [-1.0])], None, temperature=1.0)


@given(texts=TEXTS.map(sorted))
def test_texts_whose_probabilities_are_added_exclude_each_other_and_cover_all(texts: list[tuple[int, ...]]) -> None:
    kept = [texts[index] for index in separate(texts)]
    for one in kept:
        assert not any(one is not other and one[: len(other)] == other for other in kept)
    for text in texts:
        assert any(text[: len(one)] == one for one in kept)


def test_the_total_of_a_continuation_is_the_sum_of_its_tokens() -> None:
    assert scored([0.0], [-0.1] * 10, [-3.0]).totals == (-1.0, -3.0)


def test_rotated_letters_name_the_labels_of_the_first_prompt() -> None:
    task = ScoringTask(tokens=(1,))
    plan = RotatedLetters(tasks=(task,) * 3, orders=((1, 2, 0), (2, 0, 1), (0, 1, 2)), label_token_ids=(10, 11, 12))
    assert plan.answer_token_ids == (12, 10, 11)
