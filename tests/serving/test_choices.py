"""Readouts and prompt versions are closed lists, and go together by rule."""

from __future__ import annotations

import pytest

from decision_server import choices
from decision_server.choices import Choice
from decision_server.model_errors import StartupFailure, UnknownChoice

LETTERS = Choice(readout="letters", prompt_version="direct-options-v1")
FIRST = Choice(readout="letters", prompt_version="criterion-first-v1")
LIKELIHOOD = Choice(readout="likelihood", prompt_version="likelihood-v1")


@pytest.mark.parametrize(
    ("defaults", "readout", "version", "expected"),
    [
        (LETTERS, None, None, LETTERS),
        (LIKELIHOOD, None, None, LIKELIHOOD),
        (LETTERS, "likelihood", None, LIKELIHOOD),
        (LIKELIHOOD, "letters", None, LETTERS),
        (FIRST, "letters-rotated", None, Choice(readout="letters-rotated", prompt_version="criterion-first-v1")),
        (FIRST, "likelihood", None, LIKELIHOOD),
        (LETTERS, None, "criterion-first-v1", FIRST),
        (LIKELIHOOD, "letters", "criterion-first-v1", FIRST),
    ],
)
def test_what_is_asked_wins_over_the_defaults_and_a_readout_keeps_only_a_version_that_goes_with_it(
    defaults: Choice, readout: str | None, version: str | None, expected: Choice
) -> None:
    assert choices.for_decision(defaults, readout=readout, prompt_version=version) == expected
    assert choices.at_start(defaults, readout=readout, prompt_version=version) == expected


@pytest.mark.parametrize(
    ("readout", "version", "message"),
    [
        ("words", None, "readout: 'words' is not known; known here: letters, likelihood, letters-rotated"),
        (None, "v9", "prompt_version: 'v9' is not known; known here: direct-options-v1, "),
        (None, "likelihood-v1", "prompt_version: 'likelihood-v1' is not known with the readout 'letters'"),
        ("likelihood", "direct-options-v1", "with the readout 'likelihood'; known here: likelihood-v1$"),
    ],
)
def test_what_is_not_known_or_does_not_go_together_is_refused_by_name(
    readout: str | None, version: str | None, message: str
) -> None:
    with pytest.raises(UnknownChoice, match=message) as refused:
        choices.for_decision(LETTERS, readout=readout, prompt_version=version)
    assert refused.value.field == ("readout" if readout == "words" else "prompt_version")
    with pytest.raises(StartupFailure, match=message):
        choices.at_start(LETTERS, readout=readout, prompt_version=version)


def test_a_manifest_whose_version_does_not_go_with_its_readout_stops_the_start_whatever_the_settings() -> None:
    proposed = Choice(readout="likelihood", prompt_version="direct-options-v1")
    with pytest.raises(StartupFailure, match="'direct-options-v1' is not known with the readout 'likelihood'"):
        choices.at_start(proposed, readout="letters", prompt_version=None)


@pytest.mark.parametrize("version", ["direct-options-v1", "criterion-first-v1"])
def test_past_sixteen_options_the_version_says_so(version: str) -> None:
    asked = Choice(readout="letters", prompt_version=version)
    assert asked.for_options(16) == asked
    assert asked.for_options(17).prompt_version == f"{version}-wide"
    assert asked.for_options(17).for_options(2).prompt_version == f"{version}-wide"
    assert LIKELIHOOD.for_options(255) == LIKELIHOOD
