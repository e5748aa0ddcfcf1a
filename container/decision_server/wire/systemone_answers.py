"""Results → a System One answer (contract 4.2). Fields beyond the contract begin with `x_`.

It says nothing of time, so the same request is answered by the same bytes, whatever else is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TypeAlias

from decision_server import questions
from decision_server.decisions import Decision
from decision_server.expectations import choice_confidence, expectation, most_probable, score_confidence
from decision_server.questions import Content
from decision_server.results import Result
from decision_server.wire.json_text import json_bytes

Legend: TypeAlias = tuple[Content, ...]


def answer_body(decisions: Sequence[Decision], legends: Sequence[Legend | None], results: Sequence[Result]) -> bytes:
    answers = {
        decision.id: _answer(decision, legend, result) | extensions(result)
        for decision, legend, result in zip(decisions, legends, results, strict=True)
    }
    tokens = sum(result.input_tokens for result in results)
    return json_bytes(
        {
            "model": results[0].model.name,
            "answers": answers,
            "usage": {"input_tokens": tokens, "output_tokens": 0},
        }
    )


def extensions(result: Result) -> dict[str, object]:
    """What our own dialect says of a decision besides its probabilities, and other dialects have no field for."""
    table: dict[str, object] = {
        "x_label_mass": result.allowed_token_mass,
        "x_readout": result.readout,
        "x_prompt_version": result.prompt_version,
        "x_prompt_sha256": result.prompt_sha256,
        "x_calibration": asdict(result.calibration),
    }
    if result.rotation_spread is not None:
        table["x_rotation_spread"] = result.rotation_spread
    if result.warnings:
        table["x_warnings"] = list(result.warnings)
    if result.abstained is not None:
        table["x_abstained"] = result.abstained
    return table


def _answer(decision: Decision, legend: Legend | None, result: Result) -> dict[str, object]:
    probabilities = result.probabilities
    match decision.question_type:
        case questions.NOUL:
            return {"type": "noul", "noul": probabilities[0]}
        case questions.SCORE:
            return {
                "type": "score",
                "score": expectation(probabilities),
                "legend": {str(level): text for level, text in enumerate(legend or ())},
                "probabilities": {str(level): probability for level, probability in enumerate(probabilities)},
                "confidence": score_confidence(probabilities),
            }
    return {
        "type": "choice",
        "choice": result.option_ids[most_probable(probabilities)],
        "probabilities": dict(zip(result.option_ids, probabilities, strict=True)),
        "confidence": choice_confidence(probabilities),
    }
