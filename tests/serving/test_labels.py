"""Labels are single tokens of their own where the answer begins (contract 3.5, 3.7)."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase

import pytest

from decision_server import labels, prompt
from decision_server.model_errors import StartupFailure, TooManyOptions
from decision_server.tokens import PromptTokenizer
from tests.fixtures.models import smollm2_q4_0
from tests.serving.model_side import loaded

SYSTEM = prompt.system_turn("direct-options-v1")


def of(path: Path) -> labels.Labels:
    with loaded(path) as engine:
        tokenizer = PromptTokenizer(engine.vocabulary, (SYSTEM,))
        found = labels.verified(lambda label: tokenizer.answer_tokens(SYSTEM, label))
        for label, token in zip(found.labels, found.token_ids, strict=True):
            assert engine.vocabulary.piece(token) == label.encode()
        return found


def test_the_first_twenty_six_labels_are_the_letters_and_all_are_distinct(tiny_llama: Path) -> None:
    found = of(tiny_llama)
    assert "".join(found.labels[:26]) == ascii_uppercase
    assert len(set(found.labels)) == len(set(found.token_ids)) == labels.MOST


def test_labels_past_z_are_pairs_that_are_no_common_word(tiny_llama: Path) -> None:
    pairs = of(tiny_llama).labels[26:]
    assert pairs[:3] == ("AA", "AB", "AC")
    assert {"NO", "IS", "OK", "AI", "UK"}.isdisjoint(pairs)


def test_a_real_vocabulary_has_labels_for_the_largest_decision_allowed() -> None:
    assert len(of(smollm2_q4_0()).labels) == 255


def test_labels_are_taken_from_the_front_and_never_more_than_there_are() -> None:
    three = labels.Labels(labels=("A", "B", "C"), token_ids=(7, 8, 9))
    assert three.first(2) == labels.Labels(labels=("A", "B"), token_ids=(7, 8))
    with pytest.raises(TooManyOptions, match="4 given; at most 3 here"):
        three.first(4)


def test_a_vocabulary_that_splits_a_letter_stops_the_start() -> None:
    with pytest.raises(StartupFailure, match="label 'P' is 2 tokens"):
        labels.verified(lambda label: (1, 2) if label == "P" else (ord(label[0]),))


def test_a_vocabulary_without_labels_can_be_served_where_none_are_required() -> None:
    none = labels.verified(lambda label: (1, 2), required=0)
    with pytest.raises(TooManyOptions, match="2 given; at most 0 here"):
        none.first(2)


def test_a_vocabulary_that_makes_one_token_of_two_letters_stops_the_start() -> None:
    with pytest.raises(StartupFailure, match="label 'B' is 1 tokens in this vocabulary; 1 of its own"):
        labels.verified(lambda label: (5,))


def test_a_vocabulary_that_splits_later_labels_has_fewer_of_them() -> None:
    def answer_tokens(label: str) -> tuple[int, ...]:
        return (ord(label),) if len(label) == 1 and label != "R" else (1, 2)

    assert "".join(labels.verified(answer_tokens).labels) == "ABCDEFGHIJKLMNOPQSTUVWXYZ"
