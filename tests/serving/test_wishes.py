"""Fields that begin with `x_` in requests of other APIs, and what answers say to them (contract 4.1, 5). No model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decision_server.errors import Refusal
from decision_server.wire.asked import Asked
from tests.serving.results import NO_TIME, result
from tests.serving.wire import read_bytes

NOUL = {"type": "noul", "instructions": "Refund?"}
PREDICATE = {"type": "predicate", "instructions": "Refund?"}


def systemone(*questions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    named = {f"q{index}": question for index, question in enumerate(questions)}
    return {"model": "tiny", "state": "Some evidence.", "questions": named} | changes


def openai(*questions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"model": "tiny", "input": "Some evidence.", "questions": list(questions)} | changes


def own(*abstain_below: float | None) -> dict[str, Any]:
    options = [{"id": "a", "description": "First."}, {"id": "b", "description": "Second."}]
    plain = {"state": "s", "question": "q", "options": options}
    wished = [{} if each is None else {"abstain_below": each} for each in abstain_below]
    return {"decisions": [{"id": str(index), **plain, **each} for index, each in enumerate(wished)]}


def read(body: dict[str, Any]) -> Asked:
    return read_bytes(json.dumps(body).encode())


DIALECTS = [pytest.param(systemone, NOUL, id="System One"), pytest.param(openai, PREDICATE, id="OpenAI Decisions")]


@pytest.mark.parametrize(("body", "question"), DIALECTS)
def test_a_request_chooses_readout_and_prompt_version_for_all_its_questions(
    body: Any, question: dict[str, Any]
) -> None:
    asked = read(body(question, question, x_readout="letters", x_prompt_version="criterion-first-v1"))
    chosen = [(each.readout, each.prompt_version) for each in asked.decisions]
    assert chosen == [("letters", "criterion-first-v1")] * 2
    plain = read(body(question, x_readout=None, x_prompt_version=None)).decisions[0]
    assert (plain.readout, plain.prompt_version) == (None, None)
    assert plain == read(body(question)).decisions[0]


@pytest.mark.parametrize(("body", "question"), DIALECTS)
def test_each_question_says_below_what_its_answer_abstains(body: Any, question: dict[str, Any]) -> None:
    limits = [None, 0.25, 1]
    asked = read(body(*(question | {"x_abstain_below": limit} for limit in limits)))
    assert [each.abstain_below for each in asked.decisions] == limits
    assert read(body(question)).decisions[0].abstain_below is None


@pytest.mark.parametrize(("body", "question"), DIALECTS)
@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (0, "bad_value", "more than 0"),
        (-0.5, "bad_value", "-0.5"),
        (1.0001, "bad_value", "1.0001"),
        (10**300, "bad_value", "at most 1"),
        ("0.5", "wrong_type", "a number is needed"),
        (True, "wrong_type", "a boolean"),
    ],
)
def test_a_limit_that_is_no_probability_is_refused_by_its_place(
    body: Any, question: dict[str, Any], value: object, code: str, words: str
) -> None:
    with pytest.raises(Refusal) as refused:
        read(body(question, question | {"x_abstain_below": value}))
    at = refused.value.place or ()
    assert (refused.value.code, at[0], at[-1]) == (code, "questions", "x_abstain_below")
    assert words in refused.value.message


@pytest.mark.parametrize(("body", "question"), DIALECTS)
def test_a_readout_that_is_no_text_and_one_that_the_model_refuses_are_told_by_the_request_s_field(
    body: Any, question: dict[str, Any]
) -> None:
    for name in ("x_readout", "x_prompt_version"):
        with pytest.raises(Refusal) as refused:
            read(body(question, **{name: 7}))
        assert (refused.value.code, refused.value.field) == ("wrong_type", name)
    asked = read(body(question, x_readout="letters"))
    assert asked.place(0, "readout") == ("x_readout",)
    assert asked.place(0, "prompt_version") == ("x_prompt_version",)


def answers(asked: Asked, abstained: list[bool | None]) -> list[dict[str, Any]]:
    results = [
        result(decision, [0.75, 0.25], abstained=each)
        for decision, each in zip(asked.decisions, abstained, strict=True)
    ]
    told = json.loads(asked.answer(results, NO_TIME))
    said = told.get("answers", told.get("results"))
    return list(said.values()) if isinstance(said, dict) else said


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (own(None, 0.9, 0.5), "abstained"),
        (systemone(*[NOUL] * 3), "x_abstained"),
        (openai(*[PREDICATE] * 3), "x_abstained"),
    ],
)
def test_an_answer_says_whether_it_abstains_only_where_that_was_asked(asked: dict[str, Any], field: str) -> None:
    plain, below, above = answers(read(asked), [None, True, False])
    assert field not in plain
    assert (below[field], above[field]) == (True, False)
    assert list(below)[-1] == field  # what other answers hold keeps its place, and so its bytes
