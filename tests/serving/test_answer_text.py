"""Text is shown character by character, and nothing of a stop text ever is."""

from __future__ import annotations

import pytest

from decision_server.answer_text import AnswerText


def shown(pieces: list[bytes], stop: list[str]) -> tuple[list[str], bool]:
    text = AnswerText(stop)
    parts = []
    for piece in pieces:
        parts.append(text.add(piece))
        if text.stopped:
            return parts, True
    return [*parts, text.rest()], False


def test_a_character_of_several_tokens_is_shown_when_its_last_byte_is_there() -> None:
    assert shown([b"a\xf0", b"\x9f\x99", b"\x82b"], []) == (["a", "", "🙂b", ""], False)


def test_an_unfinished_character_at_the_end_is_left_out() -> None:
    assert shown([b"a\xf0\x9f"], []) == (["a", ""], False)


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert shown([b"a\xff", b"b"], []) == (["a\ufffd", "b", ""], False)


def test_a_stop_text_that_comes_in_parts_is_never_shown() -> None:
    assert shown([b"one E", b"N", b"D two"], ["END"]) == (["one ", "", ""], True)


def test_what_only_looked_like_a_stop_text_is_shown_after_all() -> None:
    assert shown([b"one E", b"N", b"ough"], ["END"]) == (["one ", "", "ENough", ""], False)
    assert shown([b"one EN"], ["END"]) == (["one ", "EN"], False)


@pytest.mark.parametrize("stops", [["b", "abc"], ["abc", "b"]])
def test_of_several_stop_texts_the_first_in_the_answer_counts(stops: list[str]) -> None:
    assert shown([b"xabcb"], stops) == (["x"], True)


def test_a_stop_text_of_letters_that_repeat_is_found() -> None:
    assert shown([b"aa", b"ab"], ["aab"]) == (["", "a"], True)
