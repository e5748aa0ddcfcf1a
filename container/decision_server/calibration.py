"""The calibration artefact: a temperature for each type of question, and what it was fitted for. Pure.

A temperature divides an answer's scores before the softmax. It holds for the weights, prompt version and readout it was
fitted with and for nothing else; so an artefact that does not fit what the server serves stops the start, and an answer
that a request asked for in another way stays uncalibrated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decision_server.choices import Choice
from decision_server.model_errors import StartupFailure

QUESTION_TYPES = ("choice", "noul", "score")
LEAST, MOST = 0.25, 10.0  # outside, a fit says more about its data than about the model

_KEYS = ("calibration_version", "version", "gguf_sha256", "prompt_version", "readout", "temperatures")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """temperatures: by question type, each in [LEAST, MOST]; a type that is left out is not calibrated."""

    version: str
    gguf_sha256: str
    prompt_version: str
    readout: str
    temperatures: Mapping[str, float]

    def temperature_for(self, question_type: str, used: Choice) -> float | None:
        """For an answer of this type, given in this way; None if the calibration says nothing about such answers."""
        if used != Choice(readout=self.readout, prompt_version=self.prompt_version).for_type(question_type):
            return None
        return self.temperatures.get(question_type)


def read(data: bytes, *, gguf_sha256: str, serves: Choice) -> Calibration:
    """calibration.json → a calibration that fits the loaded weights and what is served by default.

    Raises StartupFailure that names the field, what it says and what is needed.
    """
    table = _table(data)
    calibration = Calibration(
        version=_text(table, "version"),
        gguf_sha256=_text(table, "gguf_sha256"),
        prompt_version=_text(table, "prompt_version"),
        readout=_text(table, "readout"),
        temperatures=_temperatures(table["temperatures"]),
    )
    if not _VERSION.fullmatch(calibration.version):
        raise _wrong("version", calibration.version, "1 to 64 of A-Z a-z 0-9 . _ + - are needed")
    for field, says, needed, of in (
        ("gguf_sha256", calibration.gguf_sha256, gguf_sha256, "of the weights"),
        ("readout", calibration.readout, serves.readout, "served by default"),
        ("prompt_version", calibration.prompt_version, serves.prompt_version, "served by default"),
    ):
        if says != needed:
            raise _wrong(field, says, f"{needed!r} is the one {of}; fit it again or package the model without it")
    return calibration


def _table(data: bytes) -> dict[str, Any]:
    try:
        table = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise StartupFailure(f"calibration: not JSON in UTF-8: {error}") from None
    if not isinstance(table, dict):
        raise StartupFailure(f"calibration: a JSON {type(table).__name__}; an object is needed")
    if table.get("calibration_version") != 1 or isinstance(table["calibration_version"], bool):
        raise _wrong("calibration_version", table.get("calibration_version"), "1 is needed")
    _closed("", table, _KEYS)
    for key in _KEYS:
        if key not in table:
            raise StartupFailure(f"calibration: {key} is missing; needed are {', '.join(_KEYS)}")
    return table


def _temperatures(value: object) -> dict[str, float]:
    if not isinstance(value, dict) or not value:
        raise _wrong("temperatures", value, f"an object with one or more of {', '.join(QUESTION_TYPES)} is needed")
    _closed("temperatures.", value, QUESTION_TYPES)
    for name, temperature in value.items():
        number = isinstance(temperature, (int, float)) and not isinstance(temperature, bool)
        if not number or not LEAST <= temperature <= MOST:  # false for NaN too
            raise _wrong(f"temperatures.{name}", temperature, f"a number from {LEAST} to {MOST} is needed")
    return {name: float(temperature) for name, temperature in value.items()}


def _closed(prefix: str, table: Mapping[str, object], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise StartupFailure(f"calibration: {prefix}{key[:60]} is not known; known are {', '.join(known)}")


def _text(table: Mapping[str, object], key: str) -> str:
    value = table[key]
    if not isinstance(value, str):
        raise _wrong(key, value, "a string is needed")
    return value


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return table


def _wrong(field: str, value: object, needed: str) -> StartupFailure:
    return StartupFailure(f"calibration: {field} is {str(value)[:80]!r}; {needed}")
