"""What a server may send, and what the client makes of it: errors of each dialect, and answers that are none."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from client.decisions import Decision, DecisionError, Noul, Option, calls
from client.decisions.asking import made
from client.decisions.calls import Call, T
from client.transport.exchange import Answer, Request, Streamed, Whole
from client.transport.failures import StreamCut
from client.transport.retrying import Clock

OPTIONS = (Option(id="a", description="A."), Option(id="b", description="B."))
DECISION = Decision(id="d", state="x", question="?", options=OPTIONS)
RESULT: dict[str, Any] = {
    "id": "d",
    "option_ids": ["a", "b"],
    "probabilities": [0.5, 0.5],
    "option_logits": [1.0, 1.0],
    "input_tokens": 9,
    "allowed_token_mass": 0.9,
    "prompt_sha256": "0" * 64,
    "prompt_version": "direct-options-v1",
    "readout": "letters",
    "calibration": {"status": "applied", "version": "v1", "temperature": 2.0},
    "model": {"name": "m"},
    "timing": {"cached_tokens": 4},
}


@dataclass
class Says:
    """A server of one answer."""

    answer: Answer
    name: str = "the server"
    asked: list[Request] = field(default_factory=list)

    def send(self, request: Request, *, timeout: float) -> Answer:
        self.asked.append(request)
        return self.answer

    def close(self) -> None:
        """Nothing."""


def told(call: Call[T], answer: Answer) -> T:
    return made(call, Says(answer), deadline_seconds=1.0, clock=Clock(now=lambda: 0.0, sleep=lambda seconds: None))


def whole(body: object, status: int = 200) -> Whole:
    return Whole(status=status, body=body if isinstance(body, bytes) else json.dumps(body).encode())


def failure(answer: Answer, call: Call[Any] | None = None) -> DecisionError:
    with pytest.raises(DecisionError) as failed:
        told(call or calls.decide(DECISION), answer)
    return failed.value


def test_all_that_a_result_says_is_read() -> None:
    answer = told(calls.decide(DECISION), whole({"result": RESULT | {"warnings": ["w"], "rotation_spread": 0.25}}))
    assert (answer.temperature, answer.calibration_version) == (2.0, "v1")
    assert (answer.warnings, answer.rotation_spread) == (("w",), 0.25)
    assert (answer.input_tokens, answer.cached_tokens, answer.top) == (9, 4, "a")


def test_an_answer_that_comes_in_parts_is_put_together() -> None:
    body = json.dumps({"result": RESULT}).encode()
    assert told(calls.decide(DECISION), Streamed(parts=iter([body[:20], body[20:]]))).model == "m"

    def cut() -> Any:
        yield body[:20]
        raise StreamCut("cut")

    assert failure(Streamed(parts=cut())).code == "stream_cut"


@pytest.mark.parametrize(
    ("body", "code", "message", "place"),
    [
        ({"error": "E", "code": "bad_value", "field": "decision.id"}, "bad_value", "E", "decision.id"),
        ({"error": {"message": "E", "code": "bad_value", "param": "input"}}, "bad_value", "E", "input"),
        ({"detail": {"error_type": "not_found", "message": "E"}}, "not_found", "E", None),
        (
            {"detail": [{"loc": ["body", "questions", "q", "criteria", 1], "msg": "E", "type": "wrong_type"}]},
            "wrong_type",
            "E",
            "questions.q.criteria[1]",
        ),
    ],
)
def test_errors_of_every_dialect_are_read(body: object, code: str, message: str, place: str | None) -> None:
    error = failure(whole(body, 400))
    assert (error.code, error.message, error.field, error.status) == (code, message, place, 400)


@pytest.mark.parametrize(
    ("body", "status", "retryable"),
    [
        ({"error": "E", "retryable": True}, 504, True),
        ({"error": "E", "retryable": False}, 400, False),
        ({"detail": {"error_type": "late", "message": "E"}, "x_retry_after_seconds": 1}, 504, True),
        ({"detail": {"error_type": "no", "message": "E"}}, 404, False),
        (b"<html>", 503, True),
        (b"<html>", 429, True),
        ({"error": "E", "retryable": False}, 429, False),
    ],
)
def test_whether_it_may_be_answered_later_is_the_server_s_to_say(body: object, status: int, retryable: bool) -> None:
    assert failure(whole(body, status)).retryable is retryable


@pytest.mark.parametrize("body", [b"<html>a proxy says no</html>", b"", b"[]", b"{}", b"[" * 100_000, b"\xff"])
def test_what_is_no_error_of_a_server_of_this_kind_is_told_with_its_status(body: bytes) -> None:
    error = failure(whole(body, 502))
    assert (error.code, error.status) == ("not_understood", 502)
    assert "status 502" in str(error)
    assert len(str(error)) < 1000


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"null",
        {"result": {}},
        {"result": RESULT | {"probabilities": [0.5]}},
        {"result": RESULT | {"probabilities": ["a", "b"]}},
        {"result": RESULT | {"calibration": None}},
        {"result": RESULT | {"id": "another"}},
        {"results": []},
        {"results": [RESULT, RESULT]},
        {"result": RESULT | {"option_ids": ["a", "c"]}},
        {"result": RESULT | {"option_ids": ["b", "a"]}},
        {"result": RESULT | {"option_ids": "ab"}},
        {"result": RESULT | {"probabilities": [float("nan"), 0.5]}},
        {"result": RESULT | {"probabilities": [float("inf"), 0.5]}},
        {"result": RESULT | {"probabilities": [1.5, -0.5]}},
        {"result": RESULT | {"probabilities": [0.5, 0.499]}},
        {"result": RESULT | {"allowed_token_mass": float("nan")}},
        {"result": RESULT | {"model": {"name": 7}}},
        {"result": RESULT | {"warnings": [7]}},
        {"result": RESULT | {"rotation_spread": "much"}},
    ],
)
def test_an_answer_that_is_none_is_not_understood(body: object) -> None:
    """By whichever call: what is asked as a body is looked at in the same way."""
    for call in (None, calls.ask_body(json.loads(calls.decide(DECISION).requests[0].body))):
        error = failure(whole(body), call)
        assert (error.code, error.status) == ("not_understood", 200)


@pytest.mark.parametrize("body", [[], 7, "x", {"result": []}, {"result": "x"}, {"results": {}}, {"results": [[]]}])
def test_json_of_another_shape_is_told_in_words(body: object) -> None:
    said = str(failure(whole(body)))
    assert re.search("an object is needed|is no object|is no list", said), said


SCORE = {
    "type": "score",
    "score": 0.5,
    "probabilities": {"0": 0.5, "1": 0.5},
    "x_label_mass": 0.9,
    "x_readout": "letters",
    "x_prompt_version": "direct-options-v1",
    "x_prompt_sha256": "0" * 64,
    "x_calibration": {"status": "none", "version": None, "temperature": 1.0},
}
NOUL = {name: value for name, value in SCORE.items() if name not in ("score", "probabilities")} | {
    "type": "noul",
    "noul": 0.25,
}
BODY: dict[str, Any] = {
    "state": "x",
    "questions": {"s": {"type": "score", "criteria": ["low", "high"]}, "n": {"type": "noul", "instructions": "?"}},
}


def system_one(**answers: object) -> Whole:
    return whole({"model": "m", "answers": answers, "usage": {"input_tokens": 9}})


def test_a_body_s_answers_come_in_the_order_asked() -> None:
    answers = told(calls.ask_body(BODY), system_one(n=NOUL, s=SCORE))
    assert list(answers) == ["s", "n"]
    assert answers["n"].probabilities == (0.25, 0.75)


@pytest.mark.parametrize(
    "answers",
    [
        {"s": SCORE},
        {"s": SCORE, "n": NOUL, "other": NOUL},
        {"s": NOUL, "n": NOUL},
        {"s": SCORE | {"score": None}, "n": NOUL},
        {"s": SCORE | {"probabilities": {"0": 0.5, "2": 0.5}}, "n": NOUL},
        {"s": SCORE, "n": NOUL | {"noul": 1.25}},
        {"s": SCORE, "n": NOUL | {"noul": float("nan")}},
    ],
)
def test_answers_to_a_body_that_are_not_its_own_are_not_understood(answers: dict[str, object]) -> None:
    error = failure(system_one(**answers), calls.ask_body(BODY))
    assert (error.code, error.status) == ("not_understood", 200)


def test_an_answer_to_what_is_no_question_is_not_understood() -> None:
    assert failure(whole({"result": RESULT}), calls.ask_body({"decision": 7})).code == "not_understood"


def test_answers_to_other_questions_are_not_understood() -> None:
    call = calls.ask("x", {"q": Noul(instructions="?")}, readout=None, prompt_version=None)
    answers = {"model": "m", "answers": {}, "usage": {"input_tokens": 1}}
    assert failure(whole(answers), call).code == "not_understood"


def test_what_is_asked_says_what_was_set_and_nothing_else() -> None:
    def body(call: Call[Any]) -> Any:
        return json.loads(call.requests[0].body)

    assert body(calls.decide(DECISION)) == {
        "decision": {
            "id": "d",
            "state": "x",
            "question": "?",
            "options": [{"id": "a", "description": "A."}, {"id": "b", "description": "B."}],
        }
    }
    asked = calls.ask("x", {"q": Noul(instructions="?", abstain_below=0.5)}, readout="letters", prompt_version="v")
    assert body(asked) == {
        "model": "jev-latest",
        "state": "x",
        "x_readout": "letters",
        "x_prompt_version": "v",
        "questions": {
            "q": {
                "type": "noul",
                "instructions": "?",
                "criteria": {"true": None, "false": None},
                "x_abstain_below": 0.5,
            }
        },
    }


def test_decisions_are_put_into_as_few_requests_as_may_be() -> None:
    def sizes(decisions: list[Decision]) -> list[int]:
        return [len(json.loads(each.body)["decisions"]) for each in calls.decide_many(decisions).requests]

    assert sizes([DECISION] * 130) == [64, 64, 2]
    long = Decision(id="long", state="x" * 400_000, question="?", options=OPTIONS)
    assert sizes([long] * 5) == [2, 2, 1]
    assert sizes([]) == []
