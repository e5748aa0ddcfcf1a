"""OpenAI Decisions: bytes to decisions, results to bytes, errors (contract 5). No model; the package's own types."""

import json
from typing import Any

import pytest
from openai.types import Decision as OpenAiDecision
from pydantic import TypeAdapter

from decision_server.errors import CODES, Refusal
from decision_server.wire.dialects import Dialect
from decision_server.wire.error_bodies import error_answer
from decision_server.wire.openai_bodies import OpenAiRequest
from tests.serving.results import NO_TIME, result
from tests.serving.wire import read_bytes

PREDICATE = {"type": "predicate", "instructions": "The customer wants money back."}
CHOICE = {
    "type": "choice",
    "name": "zz-name",
    "instructions": "Which team?",
    "choices": [{"value": "true", "description": "Truth"}, {"value": True}, {"value": "Sales"}],
}
SCORE = {
    "type": "score",
    "instructions": [{"type": "input_text", "text": "How angry?"}, {"type": "input_json", "data": {"scale": "anger"}}],
    "levels": [{"label": "calm"}, {"label": "angry", "description": "Shouts"}],
}
CALL = {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"order": 7}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "paid twice"}

CUSTOM_OUTPUT = OUTPUT | {"type": "custom_tool_call_output"}


def body(*questions: object, **changes: Any) -> dict[str, Any]:
    return {"model": "tiny", "input": "Some evidence.", "questions": list(questions)} | changes


def read(value: object, route: str = "/v1/decisions") -> OpenAiRequest:
    asked = read_bytes(json.dumps(value).encode(), route=route)
    assert isinstance(asked, OpenAiRequest)
    return asked


def refusal(value: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(value)
    return caught.value


@pytest.mark.parametrize("route", ["/v1/decisions", "/invocations"])
def test_a_body_with_a_list_of_questions_is_an_openai_decision_on_either_route(route: str) -> None:
    assert read(body(PREDICATE), route).dialect is Dialect.OPENAI_DECISIONS


def test_each_type_of_question_becomes_a_decision_and_names_never_get_into_it() -> None:
    predicate, choice, score = read(body(PREDICATE, CHOICE, SCORE)).decisions
    assert (predicate.question_type, choice.question_type, score.question_type) == ("noul", "choice", "score")
    assert [option.description for option in predicate.options] == ["Yes.", "No."]
    assert [option.description for option in choice.options] == ["true: Truth", "true", "Sales"]
    assert [option.description for option in score.options] == ["calm", "angry: Shouts"]
    assert score.question == ["How angry?", {"scale": "anger"}]
    assert choice.id == "zz-name"
    assert "zz-name" not in json.dumps([choice.state, choice.question, [one.description for one in choice.options]])


def test_an_input_of_messages_calls_and_outputs_is_kept_in_order_without_what_only_concerns_a_service() -> None:
    items = [
        {"role": "system", "content": "Be fair."},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Look:", "prompt_cache_breakpoint": {"mode": "explicit"}},
            {"type": "input_json", "data": [{"a": [1, None]}]},
        ]},
        {"role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "Checking."}]},
        CALL | {"id": "fc_1", "status": "completed", "namespace": "shop"},
        OUTPUT | {"status": None},
        {"type": "custom_tool_call", "call_id": "c2", "name": "grep", "input": ""},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "none"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]},
        {"role": "developer", "content": "End."},
    ]  # fmt: skip
    assert read(body(PREDICATE, input=items)).decisions[0].state == [
        {"role": "system", "content": "Be fair."},
        {"role": "user", "content": ["Look:", [{"a": [1, None]}]]},
        {"role": "assistant", "content": "Checking."},
        {
            "type": "function_call",
            "call_id": "c1",
            "namespace": "shop",
            "name": "lookup",
            "arguments": '{"order": 7}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "paid twice"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "grep", "input": ""},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "none"},
        {"role": "assistant", "content": {"refusal": "I cannot."}},
        {"role": "developer", "content": "End."},
    ]


def test_text_of_messages_and_outputs_may_be_empty_as_agents_send_it_and_what_is_asked_may_not() -> None:
    empty = [
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "input_text", "text": ""}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": ""}, {"type": "refusal", "refusal": ""}]},
        CALL,
        OUTPUT | {"output": ""},
        OUTPUT | {"output": [{"type": "input_text", "text": ""}]},
        OUTPUT | {"output": []},
    ]
    state = read(body(PREDICATE, input=empty)).decisions[0].state
    assert isinstance(state, list)
    said = [item.get("content", item.get("output")) for item in state if isinstance(item, dict)]
    assert said == ["", "", ["", {"refusal": ""}], None, "", "", []]
    for nothing in ("", [], [{"type": "input_text", "text": ""}]):
        field = "questions[0].instructions" + ("[0].text" if nothing and nothing != "" else "")
        assert refusal(body(PREDICATE | {"instructions": nothing})).field == field
    assert refusal(body(PREDICATE, input=[{"role": "user", "content": []}])).field == "input[0].content"


def test_four_hundred_questions_are_read_and_one_more_is_refused() -> None:
    assert len(read(body(*[PREDICATE] * 400)).decisions) == 400
    assert refusal(body(*[PREDICATE] * 401)).message == "questions: 401 given; 1 to 400 allowed"


IMAGE = {"type": "input_image", "image_url": "https://example.com/a.png"}


@pytest.mark.parametrize(
    ("value", "code", "field", "words"),
    [
        ({"model": "tiny", "input": "x"}, "missing_field", "questions", []),
        ({"input": "x", "questions": [PREDICATE]}, "missing_field", "model", []),
        (body(PREDICATE, temperature=1), "unknown_field", "temperature", ["prompt_cache_key"]),
        (body(PREDICATE, model="gpt-9"), "model_not_found", "model", ["tiny", "DECISION_MODEL_ALIASES"]),
        (body(), "bad_value", "questions", ["0 given"]),
        (body(PREDICATE, input=""), "bad_value", "input", ["empty"]),
        (body(PREDICATE, input=[]), "bad_value", "input", ["empty"]),
        (body(PREDICATE, input=7), "wrong_type", "input", ["a number"]),
        (body(PREDICATE, input=[{"role": "tool", "content": "x"}]), "bad_value", "input[0].role", ["developer"]),
        (body(PREDICATE, input=[{"type": "reasoning"}]), "bad_value", "input[0].type", ["function_call_output"]),
        (body(PREDICATE, input=[OUTPUT]), "bad_value", "input[0].call_id", ["c1", "before"]),
        (
            body(PREDICATE, input=[CALL, OUTPUT | {"type": "custom_tool_call_output"}]),
            "bad_value",
            "input[1].call_id",
            [],
        ),
        (
            body(PREDICATE, input=[{"role": "user", "content": [IMAGE]}]),
            "bad_value",
            "input[0].content[0].type",
            ["no images"],
        ),
        (
            body(PREDICATE, input=[{"role": "system", "content": [{"type": "input_json", "data": {}}]}]),
            "bad_value",
            "input[0].content[0].type",
            ["input_json", "input_text"],
        ),
        (body(PREDICATE | {"instructions": [IMAGE]}), "bad_value", "questions[0].instructions[0].type", ["images"]),
        (body({"type": "noul"}), "bad_value", "questions[0].type", ["predicate, choice and score"]),
        (body({"instructions": "x"}), "wrong_type", "questions[0].type", ["null"]),
        (body(PREDICATE | {"choices": []}), "unknown_field", "questions[0].choices", []),
        (body(CHOICE | {"choices": [{"value": "a"}]}), "bad_value", "questions[0].choices", ["1 given"]),
        (body(CHOICE | {"choices": [{"value": 1}, {"value": 2}]}), "wrong_type", "questions[0].choices[0].value", []),
        (
            body(CHOICE | {"choices": [{"value": True}, {"value": True}]}),
            "bad_value",
            "questions[0].choices[1].value",
            ["twice"],
        ),
        (body(SCORE | {"levels": [{"label": "a"}]}), "bad_value", "questions[0].levels", ["1 given"]),
        (body(SCORE | {"levels": [{}, {}]}), "missing_field", "questions[0].levels[0].label", []),
    ],
)
def test_a_bad_body_is_refused_with_the_error_object_of_the_package(
    value: object, code: str, field: str, words: list[str]
) -> None:
    answer = error_answer(refusal(value), "r1", Dialect.OPENAI_DECISIONS)
    error = json.loads(answer.body)["error"]
    assert (error["code"], error["param"], error["type"]) == (code, field, "invalid_request_error")
    assert answer.status == CODES[code].status
    for word in words:
        assert word in error["message"]


def test_retries_are_told_in_the_body_and_in_headers_that_the_package_obeys() -> None:
    answer = error_answer(Refusal("queue_full", "full", retry_after_seconds=7), "r1", Dialect.OPENAI_DECISIONS)
    assert json.loads(answer.body)["error"]["retry_after_seconds"] == 7
    assert (answer.headers["Retry-After"], answer.headers["X-Should-Retry"]) == ("7", "true")
    assert error_answer(Refusal("internal", "x"), "r1", Dialect.OPENAI_DECISIONS).headers["X-Should-Retry"] == "false"


def test_answers_are_what_the_package_types_strictly() -> None:
    asked = read(body(PREDICATE, CHOICE, SCORE))
    results = [
        result(asked.decisions[0], [0.75, 0.25]),
        result(asked.decisions[1], [0.25, 0.5, 0.25]),
        result(asked.decisions[2], [0.25, 0.75]),
    ]
    told = TypeAdapter(OpenAiDecision).validate_json(asked.answer(results, NO_TIME), strict=True)
    assert isinstance(told, OpenAiDecision)
    predicate, choice, score = told.answers
    assert predicate.type == "predicate"
    assert (predicate.name, predicate.probability) == (None, 0.75)
    assert choice.type == "choice"
    assert (choice.name, choice.choice, choice.confidence) == ("zz-name", True, 0.25)
    assert [one.value for one in choice.probabilities] == ["true", True, "Sales"]
    assert score.type == "score"
    assert (score.score, score.confidence) == (0.75, 0.5)
    assert [(one.label, one.value, one.probability) for one in score.probabilities] == [
        ("calm", 0, 0.25),
        ("angry", 1, 0.75),
    ]
    assert (told.usage.input_tokens, told.usage.total_tokens) == (30, 30)
    assert told.usage.input_tokens_details.cached_tokens == 5
    assert (told.usage.output_tokens, told.usage.output_tokens_details.reasoning_tokens) == (0, 0)
