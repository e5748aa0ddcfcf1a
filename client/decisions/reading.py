"""The body of an answer → typed answers (contract 3.3, 4.2). Pure. What is no such body raises DecisionError."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from client.decisions.answer import SUM_MAY_MISS, Answer
from client.decisions.error import not_understood
from client.decisions.values import JsonValue

_T = TypeVar("_T")


def results(body: bytes) -> tuple[tuple[str, Answer], ...]:
    """Of section 3: id and answer of each, in the order asked."""

    def read(told: dict[str, Any]) -> tuple[tuple[str, Answer], ...]:
        listed = [told["result"]] if "result" in told else told["results"]
        if not isinstance(listed, list):
            raise TypeError(f"{str(listed)[:60]!r} is no list")
        return tuple((_text(each["id"]), _result(each)) for each in map(_object, listed))

    return _read(body, read)


def answers(body: bytes) -> dict[str, Answer]:
    """Of section 4, by the question's name."""

    def read(told: dict[str, Any]) -> dict[str, Answer]:
        given = _object(told["answers"])
        tokens = int(told["usage"]["input_tokens"]) if len(given) == 1 else None
        return {
            name: _answer(_object(each), model=_text(told["model"]), input_tokens=tokens)
            for name, each in given.items()
        }

    return _read(body, read)


def model_names(body: bytes) -> tuple[str, ...]:
    return _read(body, lambda told: tuple(str(each["id"]) for each in told["data"]))


def _read(body: bytes, read: Callable[[dict[str, Any]], _T]) -> _T:
    try:
        told = json.loads(body, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise not_understood(f"not JSON: {error}: {body[:100]!r}") from error
    if not isinstance(told, dict):
        raise not_understood(f"{type(told).__name__} where an object is needed: {body[:100]!r}")
    try:
        return read(told)
    except KeyError as error:
        raise not_understood(f"its field {error.args[0]!r} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise not_understood(str(error)) from error


def _result(told: Mapping[str, Any]) -> Answer:
    return _checked(
        Answer(
            question_type="choice",
            option_ids=_texts(told["option_ids"]),
            probabilities=_numbers(told["probabilities"]),
            option_logits=_numbers(told["option_logits"]),
            label_mass=float(told["allowed_token_mass"]),
            readout=_text(told["readout"]),
            prompt_version=_text(told["prompt_version"]),
            prompt_sha256=_text(told["prompt_sha256"]),
            temperature=float(told["calibration"]["temperature"]),
            calibration_version=_maybe(_text, told["calibration"]["version"]),
            rotation_spread=_maybe(float, told.get("rotation_spread")),
            warnings=_texts(told.get("warnings") or []),
            abstained=told.get("abstained"),
            input_tokens=int(told["input_tokens"]),
            cached_tokens=int(told["timing"]["cached_tokens"]),
            model=_text(told["model"]["name"]),
            raw=told,
        )
    )


def _answer(told: Mapping[str, Any], *, model: str, input_tokens: int | None) -> Answer:
    kind = told["type"]
    ids: tuple[str, ...]
    probabilities: tuple[float, ...]
    if kind == "noul":
        ids, probabilities = ("yes", "no"), (float(told["noul"]), 1.0 - float(told["noul"]))
    else:
        table: Mapping[str, JsonValue] = told["probabilities"]
        ids, probabilities = tuple(table), _numbers(list(table.values()))
    if kind == "score":
        float(told["score"])  # it stays in `raw`, and whoever shows it may rely on it
    calibration = told["x_calibration"]
    return _checked(
        Answer(
            question_type=kind,
            option_ids=ids,
            probabilities=probabilities,
            option_logits=None,
            label_mass=float(told["x_label_mass"]),
            readout=_text(told["x_readout"]),
            prompt_version=_text(told["x_prompt_version"]),
            prompt_sha256=_text(told["x_prompt_sha256"]),
            temperature=float(calibration["temperature"]),
            calibration_version=_maybe(_text, calibration["version"]),
            rotation_spread=_maybe(float, told.get("x_rotation_spread")),
            warnings=_texts(told.get("x_warnings") or []),
            abstained=told.get("x_abstained"),
            input_tokens=input_tokens,
            cached_tokens=None,
            model=model,
            raw=told,
        )
    )


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(each) for each in values)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{str(value)[:60]!r} is no object")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"{str(values)[:60]!r} is no list")
    return tuple(map(_text, values))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:60]!r} is no text")
    return value


def _maybe(read: Callable[[Any], _T], value: Any) -> _T | None:
    return None if value is None else read(value)


def _finite(text: str) -> float:
    """JSON has no NaN, and a number that is past all others is one of a fault."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:60]} is no finite number")
    return value


def _checked(answer: Answer) -> Answer:
    if not answer.option_ids or len(answer.option_ids) != len(answer.probabilities):
        raise ValueError(f"{len(answer.option_ids)} options and {len(answer.probabilities)} probabilities")
    if not all(0 <= each <= 1 for each in answer.probabilities):
        raise ValueError(
            f"probabilities from {min(answer.probabilities)} to {max(answer.probabilities)}; 0 to 1 allowed"
        )
    if abs((total := math.fsum(answer.probabilities)) - 1) > SUM_MAY_MISS:
        raise ValueError(f"the probabilities have the sum {total}; 1 is needed")
    return answer
