"""A result as a table for people."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from client.table import BAR_WIDTH, bar, render_decision

OPTIONS = [{"id": "long_name", "description": "The long one."}, {"id": "b", "description": "The other."}]


def result(**changes: Any) -> dict[str, Any]:
    return {
        "option_ids": ["long_name", "b"],
        "probabilities": [0.25, 0.75],
        "option_logits": [-1.5, 12.345678],
        "input_tokens": 130,
        "allowed_token_mass": 0.9876,
        "timing": {
            "queue_seconds": 0.0001,
            "encode_seconds": 0.002,
            "forward_seconds": 0.1234,
            "total_seconds": 0.126,
            "cached_tokens": 40,
        },
        **changes,
    }


def test_each_option_has_a_line_and_the_most_probable_is_marked() -> None:
    first, second, timing = render_decision(result(), OPTIONS).splitlines()
    assert first.split() == ["long_name", "25.0%", "██████", "-1.500", "The", "long", "one."]
    assert second.split() == ["▶", "b", "75.0%", "█" * 18, "12.346", "The", "other."]
    assert "queue 0.1 ms, encode 2.0 ms, forward 123.4 ms, total 126.0 ms; 130 tokens, 40 of them cached" in timing
    assert timing.endswith("mass on the options 0.988")


def test_by_likelihood_the_mass_on_the_options_is_not_shown_for_it_is_always_small() -> None:
    assert "mass on the options" not in render_decision(result(readout="likelihood"), OPTIONS)
    assert "mass on the options" in render_decision(result(readout="letters-rotated"), OPTIONS)


def test_what_would_move_a_terminal_s_cursor_is_shown_as_text() -> None:
    first, *_ = render_decision(
        result(), [{"id": "long_name", "description": "The \x1b[2J\none."}, OPTIONS[1]]
    ).splitlines()
    assert first.endswith("The \\x1b[2J\\none.")


def test_columns_stand_below_each_other_whatever_the_ids() -> None:
    first, second, _ = render_decision(result(), OPTIONS).splitlines()
    assert first.index("%") == second.index("%")
    assert first.index("The long") == second.index("The other")


def test_colour_is_used_only_when_asked_for() -> None:
    assert "\x1b" not in render_decision(result(), OPTIONS)
    assert render_decision(result(), OPTIONS, colour=True).splitlines()[1].startswith("\x1b[1m")


def test_options_that_were_not_asked_are_an_error() -> None:
    with pytest.raises(KeyError, match="b"):
        render_decision(result(), OPTIONS[:1])


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.01, 0.333, 0.5, 0.999, 1.0])
def test_a_bar_is_as_wide_as_its_column_and_as_long_as_its_share(share: float) -> None:
    drawn = bar(share)
    assert len(drawn) == BAR_WIDTH
    full = sum(unicodedata.name(cell) == "FULL BLOCK" for cell in drawn)
    assert abs(full - share * BAR_WIDTH) <= 1
