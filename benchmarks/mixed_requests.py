"""Requests of every dialect, drawn from a seed, and what of an answer must not depend on company.

What tells the time, what was taken from a cache and which request it was may differ; every other byte may not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks import texts

_JSON, _LINES = "application/json", "application/jsonlines"
_OF_THE_MOMENT = frozenset({"timing", "input_tokens_details", "id", "created", "request_id"})
_STATES = 7  # few, so that requests of different dialects share what is computed of them


@dataclass(frozen=True, kw_only=True)
class Asked:
    kind: str
    route: str
    body: bytes
    media_type: str = _JSON


def mixed(seed: int, count: int) -> list[Asked]:
    drawn = random.Random(seed)
    states = [" ".join(texts.sentence(drawn) for _ in range(drawn.randint(1, 6))) for _ in range(_STATES)]
    kinds = list(_KINDS)
    chosen = [kinds[number % len(kinds)] for number in range(count)]
    drawn.shuffle(chosen)
    return [_asked(kind, drawn, drawn.choice(states)) for kind in chosen]


def told(asked: Asked, body: bytes) -> object:
    """What must be the same, whatever the company."""
    if asked.kind == "bulk":
        return [_kept(json.loads(line), top=True) for line in body.splitlines()]
    if asked.kind == "streamed chat":
        events = [line[6:] for line in body.split(b"\n\n") if line.startswith(b"data: {")]
        chunks = [json.loads(event)["choices"][0] for event in events]
        return ["".join(each["delta"].get("content", "") for each in chunks), chunks[-1]["finish_reason"]]
    return _kept(json.loads(body), top=True)


def _kept(value: Any, *, top: bool = False) -> Any:
    """id: of a chat completion it is new each time, of a result it is the caller's."""
    if isinstance(value, dict):
        moment = _OF_THE_MOMENT if top and "choices" in value else _OF_THE_MOMENT - {"id"}
        return {name: _kept(each) for name, each in value.items() if name not in moment}
    return [_kept(each) for each in value] if isinstance(value, list) else value


def _asked(kind: str, drawn: random.Random, state: str) -> Asked:
    route, body = _KINDS[kind](drawn, state)
    if isinstance(body, list):
        return Asked(kind=kind, route=route, media_type=_LINES, body=b"".join(_line(each) for each in body))
    return Asked(kind=kind, route=drawn.choice([route, "/invocations"]), body=json.dumps(body).encode())


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _decision(drawn: random.Random, state: str) -> tuple[str, Any]:
    decision = texts.decision(drawn, "d", state)
    return "/v1/decisions", {"decision": {**decision, "readout": drawn.choice(["letters", "likelihood"])}}


def _decisions(drawn: random.Random, state: str) -> tuple[str, Any]:
    several = [texts.decision(drawn, f"d{number}", state) for number in range(drawn.randint(2, 5))]
    several[0] = {**several[0], "abstain_below": 0.5}
    return "/v1/decisions", {"decisions": several}


def _system_one(drawn: random.Random, state: str) -> tuple[str, Any]:
    words = [texts.sentence(drawn) for _ in range(3)]
    questions = {
        "sure": {"type": "noul", "instructions": texts.sentence(drawn)},
        "which": {"type": "choice", "criteria": dict.fromkeys(words)},
        "much": {"type": "score", "instructions": texts.sentence(drawn), "criteria": words, "x_abstain_below": 0.5},
    }
    return "/v1/systemone", {"model": "jev-latest", "state": state, "questions": questions}


def _openai(drawn: random.Random, state: str) -> tuple[str, Any]:
    choices = [{"value": texts.sentence(drawn)} for _ in range(3)]
    questions = [
        {"type": "predicate", "instructions": texts.sentence(drawn), "x_abstain_below": 0.5},
        {"type": "choice", "name": "which", "instructions": "Which?", "choices": choices},
    ]
    return "/v1/decisions", {"model": "jev-latest", "input": state, "questions": questions}


def _chat(drawn: random.Random, state: str) -> tuple[str, Any]:
    messages = [{"role": "user", "content": state}]
    temperature, seed = drawn.choice([0.0, 0.8]), drawn.randrange(1000)
    return "/v1/chat/completions", {
        "messages": messages,
        "max_tokens": 12,
        "temperature": temperature,
        "seed": seed,
    }


def _streamed_chat(drawn: random.Random, state: str) -> tuple[str, Any]:
    route, body = _chat(drawn, state)
    return route, {**body, "stream": True}


def _bulk(drawn: random.Random, state: str) -> tuple[str, Any]:
    """Lines of several dialects, and one that cannot be asked."""
    lines = [
        texts.decision(drawn, "bare", state),
        _system_one(drawn, state)[1],
        _openai(drawn, state)[1],
        {"no": "one"},
    ]
    return "/invocations", lines


_KINDS: dict[str, Callable[[random.Random, str], tuple[str, Any]]] = {
    "decision": _decision,
    "decisions": _decisions,
    "system one": _system_one,
    "openai decision": _openai,
    "chat": _chat,
    "streamed chat": _streamed_chat,
    "bulk": _bulk,
}
