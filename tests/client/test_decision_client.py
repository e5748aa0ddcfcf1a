"""DecisionClient over each way to a server: plain HTTP, SageMaker's runtime and a process of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from client.decisions import (
    AsyncDecisionClient,
    Choice,
    Decision,
    DecisionClient,
    DecisionError,
    Noul,
    Option,
    Question,
    Refused,
    Score,
    UrlTarget,
)
from client.transport.retrying import Clock
from local.emulator.aws_errors import AwsError
from tests.client.fake_runtime import ENDPOINT, Runtime, wrapped
from tests.fixtures.models import smollm2_q8_0
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import FAKE, ROOT, SERVE, Server

OPTIONS = (Option(id="a", description="First."), Option(id="b", description="Second."))
DECISION = Decision(id="d", state={"text": "Some evidence.", "n": 1}, question="Which?", options=OPTIONS)
QUESTIONS: dict[str, Question] = {
    "refund": Noul(instructions="Refund?", true="Wants money", abstain_below=1.0),
    "team": Choice(instructions={"ask": "Which?"}, options={"z": None, "a": "The first."}),
    "anger": Score(instructions=None, levels=("calm", ["rather", "angry"], "furious")),
}


@pytest.fixture
def http(tiny_server: Server) -> Iterator[DecisionClient]:
    with DecisionClient.http(f"http://127.0.0.1:{tiny_server.port}") as client:
        yield client


@pytest.fixture
def endpoint(tiny_runtime: Runtime) -> Iterator[DecisionClient]:
    with DecisionClient.sagemaker(ENDPOINT, region="eu-north-1") as client:
        yield client


def test_a_decision_is_answered_with_the_server_s_own_numbers(http: DecisionClient, tiny_server: Server) -> None:
    asked = {"id": "d", "state": DECISION.state, "question": "Which?"}
    asked["options"] = [{"id": each.id, "description": each.description} for each in OPTIONS]
    told = tiny_server.ask({"decision": asked}).json["result"]
    answer = http.decide(DECISION)
    assert answer.option_ids == ("a", "b")
    assert list(answer.probabilities) == told["probabilities"]
    assert list(answer.option_logits or ()) == told["option_logits"]
    assert (answer.label_mass, answer.prompt_sha256) == (told["allowed_token_mass"], told["prompt_sha256"])
    assert (answer.readout, answer.prompt_version) == ("letters", "direct-options-v1")
    assert (answer.temperature, answer.calibration_version, answer.abstained) == (1.0, None, None)
    assert (answer.input_tokens, answer.model) == (told["input_tokens"], "tiny")
    assert answer.top == answer.option_ids[told["probabilities"].index(max(told["probabilities"]))]
    assert answer.raw["id"] == "d"


def test_each_type_of_question_is_answered_in_the_order_asked(http: DecisionClient) -> None:
    answers = http.ask("Charged twice.", QUESTIONS, readout="likelihood")
    assert list(answers) == ["refund", "team", "anger"]
    assert [each.question_type for each in answers.values()] == ["noul", "choice", "score"]
    assert [each.option_ids for each in answers.values()] == [("yes", "no"), ("z", "a"), ("0", "1", "2")]
    assert {each.readout for each in answers.values()} == {"likelihood"}
    assert [each.abstained for each in answers.values()] == [True, None, None]
    for each in answers.values():
        assert sum(each.probabilities) == pytest.approx(1, abs=1e-9)
    assert [each.input_tokens for each in answers.values()] == [None] * 3
    assert http.ask("x", {"refund": QUESTIONS["refund"]})["refund"].input_tokens


def test_a_wish_of_a_decision_reaches_the_server(http: DecisionClient) -> None:
    answer = http.decide(replace(DECISION, readout="letters-rotated", abstain_below=0.999))
    assert answer.readout == "letters-rotated"
    assert answer.rotation_spread is not None
    assert answer.abstained is True
    assert http.decide(replace(DECISION, prompt_version="criterion-first-v1")).prompt_version == "criterion-first-v1"


def test_more_decisions_than_a_request_holds_are_answered_in_their_order(
    http: DecisionClient, tiny_server: Server
) -> None:
    before = tiny_server.metric("decision_requests_total")
    many = [replace(DECISION, id=str(number), question=f"Which, {number % 3}?") for number in range(65)]
    answers = http.decide_many(many)
    assert [each.raw["id"] for each in answers] == [str(number) for number in range(65)]
    assert answers[4].probabilities == http.decide(many[4]).probabilities
    assert tiny_server.metric("decision_requests_total") == before + 3
    assert http.decide_many([]) == ()


def test_an_endpoint_answers_as_the_server_behind_it(
    http: DecisionClient, endpoint: DecisionClient, tiny_runtime: Runtime
) -> None:
    assert endpoint.ask("x", QUESTIONS) == http.ask("x", QUESTIONS)
    assert endpoint.decide(DECISION).probabilities == http.decide(DECISION).probabilities
    assert endpoint.models() == http.models() == ("tiny", "jev-latest")
    assert endpoint.metrics() is None
    assert "decision_requests_total" in (http.metrics() or "")
    assert "/eu-north-1/sagemaker/aws4_request" in tiny_runtime.asked[0]["authorization"]


def test_the_program_on_the_page_runs(tiny_runtime: Runtime, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "client.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    program = next(block for block in blocks if "with DecisionClient" in block)
    exec(compile(program, "docs/client.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[0] in ("billing", "login")
    assert 0 <= float(second) <= 1
    assert len(tiny_runtime.asked) == 2


def test_a_local_model_is_served_while_the_client_is_open(http: DecisionClient, tiny_model: Path) -> None:
    told: list[str] = []
    settings = {"DECISION_N_THREADS": "1", "DECISION_MODEL_ALIASES": "other"}
    with DecisionClient.local(tiny_model, settings=settings, say=told.append) as client:
        assert client.models() == ("tiny", "jev-latest", "other")
        assert client.ask("x", QUESTIONS) == http.ask("x", QUESTIONS)
        assert "decision_requests_total" in (client.metrics() or "")
    assert "loaded" in told[-1]
    with pytest.raises(DecisionError) as failed:
        client.decide(DECISION)
    assert (failed.value.code, failed.value.status) == ("closed", None)


def test_a_client_that_was_closed_says_so(tiny_server: Server) -> None:
    client = DecisionClient.http(f"http://127.0.0.1:{tiny_server.port}")
    assert client.decide(DECISION).model == "tiny"
    client.close()
    client.close()
    error = failure(client)
    assert (error.code, error.retryable) == ("closed", False)
    assert "this client was closed" in str(error)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e9])
def test_a_deadline_that_is_no_time_is_refused_at_once(http: DecisionClient, seconds: float) -> None:
    with pytest.raises(ValueError, match="deadline_seconds: "):
        DecisionClient.http("http://127.0.0.1:9", deadline_seconds=seconds)
    with pytest.raises(ValueError, match="deadline_seconds: "):
        AsyncDecisionClient.http("http://127.0.0.1:9", deadline_seconds=seconds)
    with pytest.raises(ValueError, match="deadline_seconds: "):
        http.decide(DECISION, deadline_seconds=seconds)
    assert failure(http, deadline_seconds=-1.0).code == "deadline_exceeded"


def test_the_real_model_answers_through_the_client() -> None:
    with DecisionClient.local(smollm2_q8_0(), settings={"DECISION_READOUT": "likelihood"}) as client:
        answer = client.decide(
            Decision(
                id="support-route",
                state="Customer asks to reset a forgotten password and says the reset email never arrived.",
                question="Which queue should handle this request?",
                options=(
                    Option(id="account_access", description="Account access and authentication support."),
                    Option(id="billing", description="Billing and payment support."),
                    Option(id="sales", description="Sales and product evaluation."),
                ),
            )
        )
    assert answer.top == "account_access"
    assert answer.top_probability > 0.8


# refusals and faults


def failure(client: DecisionClient, decision: Decision = DECISION, **more: Any) -> DecisionError:
    with pytest.raises(DecisionError) as failed:
        client.decide(decision, **more)
    return failed.value


def test_a_refusal_names_the_field_and_is_not_retryable(http: DecisionClient, endpoint: DecisionClient) -> None:
    for client in (http, endpoint):
        error = failure(client, replace(DECISION, options=OPTIONS[:1]))
        assert (error.code, error.field, error.status) == ("bad_value", "decision.options", 400)
        assert not error.retryable
        assert error.request_id
        assert "2 to 255" in str(error)
        with pytest.raises(DecisionError) as failed:
            client.ask("x", {"q": Choice(instructions="?", options={"one": None})})
        assert (failed.value.code, failed.value.field, failed.value.status) == (
            "bad_value",
            "questions.q.criteria",
            422,
        )
        assert failed.value.request_id


@pytest.mark.parametrize("state", [float("nan"), "\ud800", {"x": {1, 2}}])
def test_what_json_cannot_say_is_refused_unsent(http: DecisionClient, state: Any) -> None:
    error = failure(http, replace(DECISION, state=state))
    assert (error.code, error.status) == ("not_json", None)


def test_what_passes_by_itself_is_asked_again(endpoint: DecisionClient, tiny_runtime: Runtime) -> None:
    busy = wrapped(503, b'{"error": "full", "code": "queue_full", "retryable": true, "retry_after_seconds": 0}')
    tiny_runtime.faults[:] = [busy, AwsError("ThrottlingException", "slowly", 400).response()]
    assert endpoint.decide(DECISION).model == "tiny"
    assert len(tiny_runtime.asked) == 3


def test_a_server_that_wants_to_be_left_alone_past_the_deadline_is_not_asked_again(
    endpoint: DecisionClient, tiny_runtime: Runtime
) -> None:
    told = {"error": "full", "code": "queue_full", "retryable": True, "retry_after_seconds": 100, "request_id": "7"}
    tiny_runtime.faults[:] = [wrapped(503, json.dumps(told).encode())]
    error = failure(endpoint)
    assert (error.code, error.status, error.retryable, error.request_id) == ("queue_full", 503, True, "7")
    assert len(tiny_runtime.asked) == 1


def test_what_may_have_been_worked_on_is_asked_once(endpoint: DecisionClient, tiny_runtime: Runtime) -> None:
    for status, body in [(500, b"{}"), (504, b'{"error": "late", "code": "deadline_exceeded", "retryable": true}')]:
        tiny_runtime.asked.clear()
        tiny_runtime.faults[:] = [wrapped(status, body)]
        assert failure(endpoint).status == status
        assert len(tiny_runtime.asked) == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [("ExpiredTokenException", "aws_credentials"), ("AccessDeniedException", "access_denied")],
)
def test_what_aws_refuses_has_a_code_of_its_own_and_no_status_of_a_server(
    endpoint: DecisionClient, tiny_runtime: Runtime, code: str, told: str
) -> None:
    tiny_runtime.faults[:] = [AwsError(code, "as AWS says it", 403).response()]
    error = failure(endpoint)
    assert (error.code, error.status, error.retryable) == (told, None, False)


def test_an_endpoint_that_is_not_there_is_named_with_its_region(tiny_runtime: Runtime) -> None:
    with DecisionClient.sagemaker("other", region="eu-north-1") as client:
        error = failure(client)
    assert error.code == "endpoint_not_found"
    assert "other" in str(error)
    assert "eu-north-1" in str(error)


def test_a_server_that_nobody_runs_is_tried_a_few_times_and_told() -> None:
    pauses: list[float] = []
    clock = Clock(sleep=pauses.append, jitter=lambda limit: limit)
    with DecisionClient(UrlTarget(url="http://127.0.0.1:9"), clock=clock) as client:
        error = failure(client)
    assert (error.code, error.retryable) == ("not_connected", True)
    assert pauses == [0.25, 0.5, 1.0]


def test_a_route_that_is_not_there_is_told_as_the_server_says_it(tiny_server: Server) -> None:
    with DecisionClient.http(f"http://127.0.0.1:{tiny_server.port}/elsewhere") as client:
        error = failure(client)
    assert (error.code, error.status) == ("not_found", 404)


def test_an_answer_past_the_deadline_is_given_up(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {}) as slow, DecisionClient.http(f"http://127.0.0.1:{slow.port}") as client:
        error = failure(client, replace(DECISION, question="work 1000"), deadline_seconds=0.2)
    assert (error.code, error.retryable) == ("deadline_exceeded", True)


def test_the_api_key_reaches_the_server_and_no_text(tmp_path: Path) -> None:
    key = "sixteen-letters-k"
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    settings = {"DECISION_MODEL_PATH": str(model), "DECISION_N_THREADS": "1", "DECISION_API_KEY": key}
    with Server(SERVE, tmp_path / "server", settings) as server:
        url = f"http://127.0.0.1:{server.port}"
        with DecisionClient.http(url, api_key=key) as client:
            assert client.decide(DECISION).model == "tiny"
        with DecisionClient.http(url, api_key="another-key-of-16") as client:
            error = failure(client)
    assert (error.code, error.status) == ("authentication_error", 401)
    assert "another" not in str(error)


URLS = ("nonsense", "ftp://x", "http://", "http://user:secret@x", "http://x/?key=secret", "http://[")


@pytest.mark.parametrize("url", [*URLS, "http://x:99999", "http://x:abc", "http://:1", "http://x:0"])
def test_a_url_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="--url") as failed:
        DecisionClient.http(url)
    assert "user" not in str(failed.value)


@pytest.mark.parametrize("key", ["", "line\nbreak", "ümlaut"])
def test_a_key_that_no_header_carries_is_refused_unshown(key: str) -> None:
    with pytest.raises(Refused) as failed:
        DecisionClient.http("http://127.0.0.1:9", api_key=key)
    assert not key or key not in str(failed.value)
