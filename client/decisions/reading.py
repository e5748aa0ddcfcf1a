"""The body of an answer → typed answers (contract 3.3, 4.2). Pure. What is no such body raises DecisionError."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from client.decisions.answer import Answer
from client.decisions.error import not_understood
from client.decisions.values import JsonValue

_T = TypeVar("_T")


def results(body: bytes) -> tuple[tuple[str, Answer], ...]:
    """Of section 3: id and answer of each, in the order asked."""

    def read(told: dict[str, Any]) -> tuple[tuple[str, Answer], ...]:
        listed = [told["result"]] if "result" in told else told["results"]
        return tuple((str(each["id"]), _result(each)) for each in listed)

    return _read(body, read)


def answers(body: bytes) -> dict[str, Answer]:
    """Of section 4, by the question's name."""

    def read(told: dict[str, Any]) -> dict[str, Answer]:
        given = told["answers"]
        tokens = told["usage"]["input_tokens"] if len(given) == 1 else None
        return {name: _answer(each, model=told["model"], input_tokens=tokens) for name, each in given.items()}

    return _read(body, read)


def either(body: bytes) -> dict[str, Answer]:
    """By id or name, whichever section answers."""
    return dict(results(body)) if _of_section_3(body) else answers(body)


def model_names(body: bytes) -> tuple[str, ...]:
    return _read(body, lambda told: tuple(str(each["id"]) for each in told["data"]))


def _of_section_3(body: bytes) -> bool:
    return _read(body, lambda told: "result" in told or "results" in told)


def _read(body: bytes, read: Callable[[dict[str, Any]], _T]) -> _T:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise not_understood(f"not JSON: {body[:100]!r}") from error
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
            option_ids=tuple(told["option_ids"]),
            probabilities=_numbers(told["probabilities"]),
            option_logits=_numbers(told["option_logits"]),
            label_mass=float(told["allowed_token_mass"]),
            readout=told["readout"],
            prompt_version=told["prompt_version"],
            prompt_sha256=told["prompt_sha256"],
            temperature=float(told["calibration"]["temperature"]),
            calibration_version=told["calibration"]["version"],
            rotation_spread=told.get("rotation_spread"),
            warnings=tuple(told.get("warnings") or ()),
            abstained=told.get("abstained"),
            input_tokens=told["input_tokens"],
            cached_tokens=told["timing"]["cached_tokens"],
            model=told["model"]["name"],
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
    calibration = told["x_calibration"]
    return _checked(
        Answer(
            question_type=kind,
            option_ids=ids,
            probabilities=probabilities,
            option_logits=None,
            label_mass=float(told["x_label_mass"]),
            readout=told["x_readout"],
            prompt_version=told["x_prompt_version"],
            prompt_sha256=told["x_prompt_sha256"],
            temperature=float(calibration["temperature"]),
            calibration_version=calibration["version"],
            rotation_spread=told.get("x_rotation_spread"),
            warnings=tuple(told.get("x_warnings") or ()),
            abstained=told.get("x_abstained"),
            input_tokens=input_tokens,
            cached_tokens=None,
            model=model,
            raw=told,
        )
    )


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(each) for each in values)


def _checked(answer: Answer) -> Answer:
    if not answer.option_ids or len(answer.option_ids) != len(answer.probabilities):
        raise ValueError(f"{len(answer.option_ids)} options and {len(answer.probabilities)} probabilities")
    return answer
