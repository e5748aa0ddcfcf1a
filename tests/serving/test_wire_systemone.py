"""System One: bytes to decisions, results to bytes, and errors (contract 4). No model."""

import json
from typing import Any

import pytest

from decision_server.errors import CODES, Refusal
from decision_server.wire.dialects import Dialect
from decision_server.wire.error_bodies import error_answer
from decision_server.wire.systemone_bodies import SystemOneRequest
from tests.serving.results import NO_TIME, result
from tests.serving.wire import read_bytes

NOUL = {"type": "noul", "instructions": "Refund?"}
CHOICE = {"type": "choice", "instructions": "Which team?", "criteria": {"Billing": "Invoices", "Sales": None}}
SCORE = {"type": "score", "instructions": "How angry?", "criteria": ["Calm", "Angry", {"label": "Furious"}]}


def body(questions: object, **changes: Any) -> dict[str, Any]:
    return {"model": "jev-latest", "state": "Some evidence.", "questions": questions} | changes


def read(value: object, route: str = "/v1/systemone") -> SystemOneRequest:
    asked = read_bytes(json.dumps(value).encode(), route=route)
    assert isinstance(asked, SystemOneRequest)
    return asked


def refusal(value: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(value)
    return caught.value


def texts(question: dict[str, Any]) -> list[str]:
    """As a prompt lists the options."""
    return [option.description for option in read(body({"q": question})).decisions[0].options]


def answers(question: dict[str, Any]) -> list[str]:
    """As an answer in words would put them."""
    return [option.answer for option in read(body({"q": question})).decisions[0].options]


def test_a_noul_is_yes_or_no_with_what_counts_as_each_where_that_is_said() -> None:
    assert texts(NOUL) == texts(NOUL | {"criteria": None}) == texts(NOUL | {"criteria": {}}) == ["Yes.", "No."]
    assert texts(NOUL | {"criteria": {"true": "Wants money"}}) == ["Yes. Wants money", "No."]
    assert texts(NOUL | {"criteria": {"false": ["a", "b"], "true": None}}) == ["Yes.", 'No. ["a", "b"]']
    assert answers(NOUL | {"criteria": {"true": "Wants money"}}) == ["Yes. Wants money", "No."]


def test_an_option_is_listed_by_name_and_description_and_answered_by_its_description() -> None:
    assert texts(CHOICE) == ["Billing: Invoices", "Sales"]
    assert texts(CHOICE | {"criteria": {"é": {"owns": ["ü"]}, "b": ""}}) == ['é: {"owns": ["ü"]}', "b"]
    assert answers(CHOICE) == ["Invoices", "Sales"]


def test_levels_keep_their_order_and_structure_is_json() -> None:
    assert texts(SCORE) == answers(SCORE) == ["Calm", "Angry", '{"label": "Furious"}']


def test_instructions_may_be_text_or_structure_and_a_question_without_them_is_asked_by_its_options() -> None:
    asked = read(
        body(
            {
                "a": {"type": "noul", "instructions": {"task": "x"}},
                "b": CHOICE | {"instructions": ["x", "y"]},
                "c": {"type": "noul", "criteria": {"true": "t"}},
                "d": SCORE | {"instructions": None},
            }
        )
    )
    assert [decision.question for decision in asked.decisions] == [
        {"task": "x"},
        ["x", "y"],
        "Which answer fits the evidence?",
        "Which level fits the evidence?",
    ]
    assert [decision.question_type for decision in asked.decisions] == ["noul", "choice", "noul", "score"]


def test_a_question_s_name_stands_in_the_decision_s_id_alone() -> None:
    one, other = (read(body({name: NOUL})).decisions[0] for name in ("zz-renamed", "🎯"))
    assert (one.id, other.id) == ("zz-renamed", "🎯")
    assert (one.state, one.question, one.options) == (other.state, other.question, other.options)


@pytest.mark.parametrize("model", ["tiny", "jev-latest", "small"])
def test_the_model_may_be_called_by_its_name_by_jev_latest_and_by_the_settings_aliases(model: str) -> None:
    assert read(body({"q": NOUL}, model=model)).decisions


def test_unknown_top_level_fields_are_ignored_on_its_route_even_if_other_dialects_know_them() -> None:
    assert read(body({"q": NOUL}, seed=7, x_trace="t", decision=1, messages=[])).decisions
    assert read(body({"q": NOUL}, seed=7), route="/invocations").dialect is Dialect.SYSTEM_ONE


@pytest.mark.parametrize(
    ("value", "code", "loc", "words"),
    [
        ({"state": "s", "questions": {"q": NOUL}}, "missing_field", ["model"], ["required"]),
        ({"model": "tiny", "questions": {"q": NOUL}}, "missing_field", ["state"], ["required"]),
        ({"model": "tiny", "state": "s"}, "missing_field", ["questions"], ["required"]),
        (body({}), "bad_value", ["questions"], ["0 given", "1 to 400"]),
        (body([NOUL]), "wrong_type", ["questions"], ["a list", "an object"]),
        (body({str(n): NOUL for n in range(401)}), "bad_value", ["questions"], ["401 given"]),
        (body({"": NOUL}), "bad_value", ["questions", ""], ["without a name"]),
        (body({"q": NOUL}, state=None), "wrong_type", ["state"], ["null"]),
        (body({"q": NOUL}, state=""), "bad_value", ["state"], ["empty"]),
        (body({"q": NOUL}, model=7), "wrong_type", ["model"], ["a number"]),
        (body({"q": NOUL}, assets={"a": {}}), "bad_value", ["assets"], ["images"]),
        (body({"a.b": {"instructions": "?"}}), "missing_field", ["questions", "a.b", "type"], ["required"]),
        (body({"q": {"type": "box"}}), "bad_value", ["questions", "q", "type"], ['"box"', "noul, choice and score"]),
        (body({"q": {"type": "noul"}}), "missing_field", ["questions", "q", "instructions"], ["neither"]),
        (body({"q": NOUL | {"criteria": []}}), "wrong_type", ["questions", "q", "criteria"], ["a list"]),
        (
            body({"q": NOUL | {"criteria": {"yes": 1}}}),
            "unknown_field",
            ["questions", "q", "criteria", "yes"],
            ["true"],
        ),
        (body({"q": NOUL | {"instructions": 3}}), "wrong_type", ["questions", "q", "instructions"], ["a number"]),
        (body({"q": CHOICE | {"criteria": {}}}), "bad_value", ["questions", "q", "criteria"], ["0 given", "2 to 255"]),
        (body({"q": CHOICE | {"criteria": {"a": None}}}), "bad_value", ["questions", "q", "criteria"], ["1 given"]),
        (body({"q": CHOICE | {"criteria": None}}), "wrong_type", ["questions", "q", "criteria"], ["null"]),
        (
            body({"q": CHOICE | {"criteria": {"a": 1, "b": None}}}),
            "wrong_type",
            ["questions", "q", "criteria", "a"],
            [],
        ),
        (body({"q": SCORE | {"criteria": {"0": "a", "1": "b"}}}), "wrong_type", ["questions", "q", "criteria"], []),
        (body({"q": SCORE | {"criteria": ["a"] * 11}}), "bad_value", ["questions", "q", "criteria"], ["2 to 10"]),
        (body({"q": SCORE | {"criteria": ["a", None]}}), "wrong_type", ["questions", "q", "criteria", 1], ["null"]),
    ],
)
def test_a_bad_body_is_422_with_the_place_as_a_path(
    value: object, code: str, loc: list[object], words: list[str]
) -> None:
    answer = error_answer(refusal(value), "r1", Dialect.SYSTEM_ONE)
    told = json.loads(answer.body)
    assert answer.status == 422
    assert told["x_request_id"] == "r1"
    (detail,) = told["detail"]
    assert (detail["type"], detail["loc"]) == (code, ["body", *loc])
    for word in words:
        assert word in detail["msg"]


def test_an_unknown_model_is_404_with_the_names_that_are_known() -> None:
    answer = error_answer(refusal(body({"q": NOUL}, model="other")), "r1", Dialect.SYSTEM_ONE)
    told = json.loads(answer.body)["detail"]
    assert (answer.status, told["error_type"]) == (404, "model_not_found")
    assert "tiny, jev-latest, small" in told["message"]


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_refusal_has_one_of_the_two_shapes_and_a_body_at_fault_has_the_list(code: str) -> None:
    answer = error_answer(Refusal(code, "what happened"), "r1", Dialect.SYSTEM_ONE)
    detail = json.loads(answer.body)["detail"]
    if answer.status == 422:
        assert detail == [{"loc": ["body"], "msg": "what happened", "type": code}]
        assert CODES[code].status == 400
    else:
        assert detail == {"error_type": code, "message": "what happened"}
        assert answer.status == CODES[code].status


def test_each_type_is_answered_with_its_own_fields_and_extensions_begin_with_x() -> None:
    asked = read(body({"n": NOUL, "c": CHOICE, "s": SCORE}))
    results = [
        result(asked.decisions[0], [0.75, 0.25]),
        result(asked.decisions[1], [0.25, 0.75], rotation_spread=0.5, warnings=("w",)),
        result(asked.decisions[2], [0.0, 0.25, 0.75]),
    ]
    told = json.loads(asked.answer(results, NO_TIME))
    extensions = {
        "x_label_mass": 0.75,
        "x_readout": "letters",
        "x_prompt_version": "direct-options-v1",
        "x_prompt_sha256": "a" * 64,
        "x_calibration": {"status": "none", "version": None, "temperature": 1.0},
    }
    assert told == {
        "model": "tiny",
        "answers": {
            "n": {"type": "noul", "noul": 0.75, **extensions},
            "c": {
                "type": "choice",
                "choice": "Sales",
                "probabilities": {"Billing": 0.25, "Sales": 0.75},
                "confidence": 0.5,
                **extensions,
                "x_rotation_spread": 0.5,
                "x_warnings": ["w"],
            },
            "s": {
                "type": "score",
                "score": 1.75,
                "legend": {"0": "Calm", "1": "Angry", "2": {"label": "Furious"}},
                "probabilities": {"0": 0.0, "1": 0.25, "2": 0.75},
                "confidence": 1 - 0.25 / (2 / 3),
                **extensions,
            },
        },
        "usage": {"input_tokens": 30, "output_tokens": 0},
    }


def test_places_of_errors_that_only_the_model_finds_are_those_of_the_body() -> None:
    asked = read(body({"a.b": SCORE}))
    assert asked.place(0, None) == ("questions", "a.b")
    assert asked.place(0, "state") == ("state",)
    assert asked.place(0, "options") == ("questions", "a.b", "criteria")
