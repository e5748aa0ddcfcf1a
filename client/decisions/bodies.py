"""What is asked → the body that asks for it (contract 3.1, 4.1). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from client.decisions.error import DecisionError
from client.decisions.questions import Choice, Decision, Noul, Question, Score
from client.decisions.values import JsonValue

MAX_DECISIONS = 64  # of one request, as servers have it unless a setting moves it
MAX_BYTES = 1_000_000  # below what servers read unless a setting moves it
MODEL = "jev-latest"  # whichever is loaded


def as_bytes(body: object) -> bytes:
    """Raises DecisionError for what JSON cannot say."""
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise DecisionError("not_json", f"what is asked cannot be written as JSON: {error}") from error


def one(decision: Decision) -> bytes:
    return as_bytes({"decision": _decision(decision)})


def several(decisions: Sequence[Decision]) -> Iterator[bytes]:
    """As few requests as may be, in their order."""
    waiting: list[bytes] = []
    size = 0
    for decision in decisions:
        each = as_bytes(_decision(decision))
        if waiting and (len(waiting) == MAX_DECISIONS or size + len(each) > MAX_BYTES):
            yield _joined(waiting)
            waiting, size = [], 0
        waiting.append(each)
        size += len(each) + 1
    if waiting:
        yield _joined(waiting)


def system_one(
    state: JsonValue, questions: Mapping[str, Question], *, readout: str | None, prompt_version: str | None
) -> bytes:
    asked: dict[str, Any] = {"model": MODEL, "state": state}
    wishes = _said(x_readout=readout, x_prompt_version=prompt_version)
    return as_bytes(asked | wishes | {"questions": {name: _question(each) for name, each in questions.items()}})


def _decision(decision: Decision) -> dict[str, Any]:
    asked: dict[str, Any] = {"id": decision.id, "state": decision.state, "question": decision.question}
    asked["options"] = [{"id": each.id, "description": each.description} for each in decision.options]
    return asked | _said(
        readout=decision.readout, prompt_version=decision.prompt_version, abstain_below=decision.abstain_below
    )


def _question(question: Question) -> dict[str, Any]:
    match question:
        case Noul():
            criteria: Any = {"true": question.true, "false": question.false}
            asked = {"type": "noul", "instructions": question.instructions, "criteria": criteria}
        case Choice():
            asked = {"type": "choice", "instructions": question.instructions, "criteria": dict(question.options)}
        case Score():
            asked = {"type": "score", "instructions": question.instructions, "criteria": list(question.levels)}
    return asked | _said(x_abstain_below=question.abstain_below)


def _said(**wishes: str | float | None) -> dict[str, Any]:
    return {name: value for name, value in wishes.items() if value is not None}


def _joined(decisions: Sequence[bytes]) -> bytes:
    return b'{"decisions":[' + b",".join(decisions) + b"]}"
