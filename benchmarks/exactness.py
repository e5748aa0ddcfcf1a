"""Whether an answer's logits depend on what happened around it: the same decisions on every path, compared by `==`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from benchmarks import texts
from benchmarks.field import Field, as_question
from benchmarks.processes import Caller, ProcessFailed
from benchmarks.workloads import QUESTIONS, STATE_TOKENS, Request, request, single_decision

_SINGLES, _STATES, _OTHERS, _CALLERS = 12, 2, 10, 4
Logits = list[list[float]]


def compare(field: Field, drawn: random.Random) -> dict[str, Any]:
    """Each path: how many label logits were compared with the first answer's, how many differ, by how much at most."""
    asked = [
        request([single_decision(drawn, field.prepare, f"s{number}")], field.prepare) for number in range(_SINGLES)
    ]
    for state_number in range(_STATES):
        state = " ".join(texts.sentence(drawn) for _ in range(STATE_TOKENS // 22))
        asked += [
            request([texts.decision(drawn, f"q{state_number}.{number}", state)], field.prepare)
            for number in range(QUESTIONS // 2)
        ]
    first = _alone(field, asked)
    paths: dict[str, Callable[[], Logits]] = {
        "asked again": lambda: _alone(field, asked),
        "in company": lambda: _together(field, asked, drawn),
        "by callers at once": lambda: _at_once(field, asked),
        "after other work": lambda: _after_others(field, asked, drawn),
        "plain llama_decode of the whole prompt in the same segments": lambda: _plain(field, asked),
    }
    return {name: _difference(first, path()) for name, path in paths.items()}


def _alone(field: Field, asked: Sequence[Request]) -> Logits:
    return [_logits(field.own_server.caller, one.body)[0] for one in asked]


def _together(field: Field, asked: Sequence[Request], drawn: random.Random) -> Logits:
    order = drawn.sample(range(len(asked)), len(asked))
    body = {"decisions": [asked[index].decisions[0] for index in order]}
    answered = dict(zip(order, _logits(field.own_server.caller, body), strict=True))
    return [answered[index] for index in range(len(asked))]


def _at_once(field: Field, asked: Sequence[Request]) -> Logits:
    def ask(mine: Sequence[Request]) -> Logits:
        with closing(Caller(field.own_server.port)) as caller:
            return [_logits(caller, one.body)[0] for one in mine]

    with ThreadPoolExecutor(_CALLERS) as pool:
        shares = list(pool.map(ask, [asked[start::_CALLERS] for start in range(_CALLERS)]))
    return [shares[index % _CALLERS][index // _CALLERS] for index in range(len(asked))]


def _after_others(field: Field, asked: Sequence[Request], drawn: random.Random) -> Logits:
    answered: Logits = []
    for one in asked:
        if len(answered) % 5 == 0:  # enough new states to push kept prefixes out
            for number in range(_OTHERS):
                state = " ".join(texts.sentence(drawn) for _ in range(3))
                _logits(field.own_server.caller, {"decision": texts.decision(drawn, f"o{number}", state)})
        answered += _logits(field.own_server.caller, one.body)
    return answered


def _plain(field: Field, asked: Sequence[Request]) -> Logits:
    questions = [as_question(decision, 0) for one in asked for decision in one.asked]
    rows: Logits = field.own.call("evaluated", questions=questions)["logits"]
    return rows


def _logits(caller: Caller, body: object) -> Logits:
    reply = caller.post("/invocations", body)
    if reply.status != 200:
        raise ProcessFailed(f"this project's server answered {reply.status}: {reply.body[:500]!r}")
    answer = json.loads(reply.body)
    return [result["option_logits"] for result in answer.get("results") or [answer["result"]]]


def _difference(first: Logits, other: Logits) -> dict[str, Any]:
    gaps = [abs(a - b) for mine, its in zip(first, other, strict=True) for a, b in zip(mine, its, strict=True)]
    return {"compared": len(gaps), "differ": sum(gap != 0 for gap in gaps), "largest": max(gaps)}
