"""Results → an OpenAI decision (contract 5), as `openai.types.Decision` has it. Fields beyond it begin with `x_`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from decision_server.expectations import choice_confidence, expectation, most_probable, score_confidence
from decision_server.results import BatchTiming, Result
from decision_server.wire.json_text import json_bytes
from decision_server.wire.systemone_answers import extensions


@dataclass(frozen=True, kw_only=True)
class Predicate:
    name: str | None


@dataclass(frozen=True, kw_only=True)
class ChoiceQuestion:
    """values: typed, as sent; `"true"` and `true` are two."""

    name: str | None
    values: tuple[str | bool, ...]


@dataclass(frozen=True, kw_only=True)
class ScoreQuestion:
    """labels: of the levels, from the lowest; the value of a level is its index."""

    name: str | None
    labels: tuple[str, ...]


Question: TypeAlias = "Predicate | ChoiceQuestion | ScoreQuestion"


def answer_body(questions: Sequence[Question], results: Sequence[Result], timing: BatchTiming) -> bytes:
    tokens = sum(result.input_tokens for result in results)
    return json_bytes(
        {
            "model": results[0].model.name,
            "answers": [
                {"name": question.name, **_answer(question, result.probabilities), **extensions(result)}
                for question, result in zip(questions, results, strict=True)
            ],
            "usage": {
                "input_tokens": tokens,
                "input_tokens_details": {"cached_tokens": timing.cached_tokens, "cache_write_tokens": 0},
                "output_tokens": 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens,
            },
        }
    )


def _answer(question: Question, probabilities: Sequence[float]) -> dict[str, object]:
    match question:
        case Predicate():
            return {"type": "predicate", "probability": probabilities[0]}
        case ChoiceQuestion(values=values):
            return {
                "type": "choice",
                "choice": values[most_probable(probabilities)],
                "probabilities": [
                    {"value": value, "probability": probability}
                    for value, probability in zip(values, probabilities, strict=True)
                ],
                "confidence": choice_confidence(probabilities),
            }
        case ScoreQuestion(labels=labels):
            return {
                "type": "score",
                "score": expectation(probabilities),
                "probabilities": [
                    {"value": level, "label": label, "probability": probability}
                    for level, (label, probability) in enumerate(zip(labels, probabilities, strict=True))
                ],
                "confidence": score_confidence(probabilities),
            }
