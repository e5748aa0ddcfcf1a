"""A calibration holds for the weights, readout and prompt version it was fitted with; anything else stops the start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decision_server import calibration
from decision_server.choices import Choice
from decision_server.model_errors import StartupFailure

SHA256 = "ab" * 32
SERVES = Choice(readout="likelihood", prompt_version="likelihood-v1")
FITTED: dict[str, Any] = {
    "calibration_version": 1,
    "version": "2026-01-31.1",
    "gguf_sha256": SHA256,
    "prompt_version": "likelihood-v1",
    "readout": "likelihood",
    "temperatures": {"choice": 2.5, "noul": 1},
}


def read(**changes: Any) -> calibration.Calibration:
    return calibration.read(json.dumps(FITTED | changes).encode(), gguf_sha256=SHA256, serves=SERVES)


def test_a_fitting_calibration_gives_a_temperature_for_each_type_it_names() -> None:
    fitted = read()
    assert fitted.version == "2026-01-31.1"
    assert [fitted.temperature_for(kind, SERVES) for kind in ("choice", "noul", "score")] == [2.5, 1.0, None]


@pytest.mark.parametrize(
    "used",
    [
        Choice(readout="letters", prompt_version="direct-options-v1"),
        Choice(readout="likelihood", prompt_version="likelihood-v2"),
        Choice(readout="letters", prompt_version="likelihood-v1"),
    ],
)
def test_it_says_nothing_about_answers_given_in_another_way(used: Choice) -> None:
    assert read().temperature_for("choice", used) is None


@pytest.mark.parametrize("temperature", [0.25, 1, 10.0])
def test_temperatures_at_the_bounds_are_taken(temperature: float) -> None:
    assert read(temperatures={"score": temperature}).temperatures == {"score": temperature}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"calibration_version": 2}, "calibration_version is '2'; 1 is needed"),
        ({"calibration_version": True}, "calibration_version is 'True'; 1 is needed"),
        ({"version": ""}, "version is ''; 1 to 64 of"),
        ({"version": 7}, "version is '7'; a string is needed"),
        ({"gguf_sha256": "cd" * 32}, f"gguf_sha256 is '{'cd' * 32}'; '{SHA256}' is the one of the weights"),
        ({"readout": "letters"}, "readout is 'letters'; 'likelihood' is the one served by default"),
        ({"prompt_version": "x-v1"}, "prompt_version is 'x-v1'; 'likelihood-v1' is the one served by default"),
        ({"note": "hi"}, "note is not known; known are calibration_version, version"),
        ({"temperatures": {}}, "one or more of choice, noul, score"),
        ({"temperatures": [1.0]}, "one or more of choice, noul, score"),
        ({"temperatures": {"words": 1.0}}, "temperatures.words is not known; known are choice, noul, score"),
        ({"temperatures": {"choice": 0.2}}, "temperatures.choice is '0.2'; a number from 0.25 to 10.0 is needed"),
        ({"temperatures": {"choice": 10.01}}, "temperatures.choice is '10.01'"),
        ({"temperatures": {"choice": float("nan")}}, "temperatures.choice is 'nan'"),
        ({"temperatures": {"choice": True}}, "temperatures.choice is 'True'"),
        ({"temperatures": {"choice": "1"}}, "temperatures.choice is '1'; a number"),
    ],
)
def test_what_does_not_fit_stops_the_start_and_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StartupFailure, match=message):
        read(**changes)


@pytest.mark.parametrize("key", list(FITTED))
def test_every_key_is_needed(key: str) -> None:
    content = json.dumps({name: value for name, value in FITTED.items() if name != key}).encode()
    with pytest.raises(StartupFailure, match=f"calibration: {key} is"):
        calibration.read(content, gguf_sha256=SHA256, serves=SERVES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON in UTF-8"),
        (b"\xff", "not JSON in UTF-8"),
        (b"[" * 100000, "not JSON in UTF-8"),
        (b"[]", "a JSON list; an object is needed"),
        (b'{"version": "a", "version": "b"}', "a key stands twice"),
    ],
)
def test_a_file_that_is_no_calibration_stops_the_start(content: bytes, message: str) -> None:
    with pytest.raises(StartupFailure, match=message):
        calibration.read(content, gguf_sha256=SHA256, serves=SERVES)
