"""The official clients against a real server process with a tiny model: `typesafe-sdk` and `openai`."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest
from backports.zstd import compress
from openai import OpenAI
from typesafe_sdk import Choice, Noul, RetryPolicy, Score, TypeSafeAPIError, TypeSafeClient

from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server, decision

KEY = "a-key-of-24-characters-x"
STATE: Any = {"subject": "Charged twice", "body": "Please pay me back.", "tickets": [1, 2]}
PLAIN: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Do they want money?", "criteria": {"true": "They ask for money"}},
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"Billing": "Invoices", "환불": None, "Sales": {"owns": ["x"]}},
    },
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["Calm", {"label": "Angry"}, "Furious"]},
}
QUESTIONS: dict[str, Any] = {
    "refund": Noul(instructions=PLAIN["refund"]["instructions"], criteria=PLAIN["refund"]["criteria"]),
    "team": Choice(instructions=PLAIN["team"]["instructions"], criteria=PLAIN["team"]["criteria"]),
    "anger": Score(instructions=PLAIN["anger"]["instructions"], criteria=PLAIN["anger"]["criteria"]),
}


@pytest.fixture(scope="module", params=["letters", "likelihood"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp(request.param)
    settings = {
        "DECISION_MODEL_PATH": str(write_tiny_llama(folder / "tiny.gguf", context_length=16384)),
        "DECISION_READOUT": request.param,
        "DECISION_N_CTX": "8192",
        "DECISION_N_THREADS": "1",
        "DECISION_MODEL_ALIASES": "gpt-6-luna, in-house",
        "DECISION_MAX_BODY_BYTES": "65536",
    }
    with Server([*SERVE], folder / "log", settings) as started:
        yield started


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("guarded")
    settings = {
        "DECISION_MODEL_PATH": str(write_tiny_llama(folder / "tiny.gguf")),
        "DECISION_READOUT": "letters",
        "DECISION_N_THREADS": "1",
        "DECISION_API_KEY": KEY,
    }
    with Server([*SERVE], folder / "log", settings) as started:
        yield started


def typesafe(
    server: Server, *, api_key: str = "any-key", model: str | None = None, compression: Literal["zstd", False] = False
) -> TypeSafeClient:
    return TypeSafeClient(
        base_url=f"http://127.0.0.1:{server.port}",
        retry=RetryPolicy(max_retries=0),
        timeout=60.0,
        api_key=api_key,
        model=model,
        compression=compression,
    )


_clients: list[OpenAI] = []


def client(server: Server) -> OpenAI:
    """Closed at the test's end."""
    _clients.append(OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="any-key", max_retries=0))
    return _clients[-1]


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    yield
    while _clients:
        _clients.pop().close()


# typesafe-sdk


@pytest.mark.parametrize("compression", ["zstd", False])
def test_the_sdk_reads_an_answer_of_every_type_from_plain_and_from_zstd_bodies(
    server: Server, compression: Any
) -> None:
    with typesafe(server, compression=compression) as sdk:
        told = sdk.system_one(state=STATE, questions=QUESTIONS)
    assert 0 < told.nouls["refund"].noul < 1
    team = told.choices["team"]
    assert list(team.probabilities) == ["Billing", "환불", "Sales"]
    assert team.probabilities[team.choice] == max(team.probabilities.values())
    anger = told.scores["anger"]
    assert anger.legend == {0: "Calm", 1: {"label": "Angry"}, 2: "Furious"}
    assert math.fsum(level * probability for level, probability in anger.probabilities.items()) == anger.score
    assert (told.model, told.usage.output_tokens) == ("tiny", 0)


def test_plain_zstd_and_gzip_bodies_get_the_same_bytes_on_either_route(server: Server) -> None:
    body = json.dumps({"model": "in-house", "state": STATE, "questions": PLAIN}).encode()
    answers = {
        server.request("POST", route, sent, {"Content-Type": "application/json", **headers}).body
        for route in ("/v1/systemone", "/invocations")
        for sent, headers in (
            (body, {}),
            (compress(body), {"Content-Encoding": "zstd"}),
            (gzip.compress(body), {"Content-Encoding": "gzip"}),
        )
    }
    assert len(answers) == 1
    assert b'"answers"' in answers.pop()


def test_a_bomb_is_413_in_the_dialect_of_its_route(server: Server) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "zstd"}
    bomb = server.request("POST", "/v1/systemone", compress(bytes(1 << 28)), headers)
    assert (bomb.status, bomb.json["detail"]["error_type"]) == (413, "body_too_large")


def test_the_sdk_lists_the_model_and_its_other_names(server: Server) -> None:
    with typesafe(server) as sdk:
        listed = sdk.models.list()
    assert [model.name for model in listed.models] == ["tiny", "jev-latest", "gpt-6-luna", "in-house"]


def test_the_sdk_says_what_was_wrong_and_where(server: Server) -> None:
    with typesafe(server) as sdk, pytest.raises(TypeSafeAPIError) as caught:
        sdk.system_one(state=STATE, questions={"a.b": {"type": "score", "criteria": ["only one"]}})
    assert (caught.value.status, "questions.a.b.criteria" in str(caught.value)) == (422, True)
    with typesafe(server, model="no-such") as sdk, pytest.raises(TypeSafeAPIError, match="in-house") as caught:
        sdk.system_one(state=STATE, questions=QUESTIONS)
    assert caught.value.status == 404


def test_renaming_reordering_and_adding_questions_changes_no_bit_of_an_answer(server: Server) -> None:
    asked = PLAIN
    renamed = {f"zz {name} 🎯": question for name, question in reversed(asked.items())}
    more = {"first": {"type": "noul", "instructions": "Is it urgent?"}, **asked, "last": asked["anger"]}
    base, other, company = (system_one(server, questions)["answers"] for questions in (asked, renamed, more))
    for name in asked:
        assert json.dumps(base[name]) == json.dumps(other[f"zz {name} 🎯"]) == json.dumps(company[name])
        assert json.dumps(system_one(server, {"alone": asked[name]})["answers"]["alone"]) == json.dumps(base[name])
    assert json.dumps(company["last"]) == json.dumps(base["anger"])


def test_two_hundred_and_fifty_five_options_are_answered(server: Server) -> None:
    options = {f"Queue {number}": None for number in range(255)}
    told = system_one(server, {"q": {"type": "choice", "instructions": "Which?", "criteria": options}})
    assert list(told["answers"]["q"]["probabilities"]) == list(options)


# openai


def test_the_package_reads_an_answer_of_every_type(server: Server) -> None:
    told = client(server).decisions.create(
        model="gpt-6-luna",
        input=[
            {"role": "user", "content": [{"type": "input_text", "text": "I was charged twice."}]},
            {"type": "function_call", "call_id": "c", "name": "lookup", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "Two payments."},
        ],
        questions=[
            {"type": "predicate", "name": "refund", "instructions": "They want money back."},
            {
                "type": "choice",
                "instructions": "Which?",
                "choices": [{"value": "true"}, {"value": True}, {"value": "b"}],
            },
            {"type": "score", "instructions": "Anger", "levels": [{"label": "calm"}, {"label": "angry"}]},
        ],
        safety_identifier="someone",
    )
    predicate, choice, score = told.answers
    assert predicate.type == "predicate"
    assert (predicate.name, 0 < predicate.probability < 1) == ("refund", True)
    assert choice.type == "choice"
    assert [one.value for one in choice.probabilities] == ["true", True, "b"]
    assert score.type == "score"
    assert score.score == score.probabilities[1].probability
    assert told.usage.total_tokens == told.usage.input_tokens > 0


def test_the_package_chooses_readout_and_limits_of_abstention_by_fields_of_ours(server: Server) -> None:
    asked: Any = [
        {"type": "predicate", "instructions": "They want money back.", "x_abstain_below": limit}
        for limit in (None, 0.5, 1)
    ]
    with client(server) as package:
        told = package.decisions.create(
            model="tiny", input="s", questions=asked, extra_body={"x_readout": "letters-rotated"}
        )
    plain, never, always = (answer.model_dump() for answer in told.answers)
    assert {answer["x_readout"] for answer in (plain, never, always)} == {"letters-rotated"}
    assert "x_abstained" not in plain
    assert (never.pop("x_abstained"), always.pop("x_abstained")) == (False, True)
    assert plain == never == always


def test_the_sdk_s_questions_may_say_below_what_they_abstain(server: Server) -> None:
    limited: dict[str, Any] = {name: {**question, "x_abstain_below": 1} for name, question in PLAIN.items()}
    with typesafe(server) as sdk:
        assert sdk.system_one(state=STATE, questions=limited).nouls
    plain, said = (system_one(server, questions)["answers"] for questions in (PLAIN, limited))
    assert [answer.pop("x_abstained") for answer in said.values()] == [True] * 3
    assert json.dumps(plain) == json.dumps(said)


def test_an_unknown_readout_is_refused_by_the_field_that_chose_it(server: Server) -> None:
    body = {"model": "tiny", "state": "s", "questions": PLAIN, "x_readout": "guessing"}
    reply = server.ask(body, "/v1/systemone")
    assert (reply.status, reply.json["detail"][0]["loc"]) == (422, ["body", "x_readout"])
    assert "likelihood" in reply.json["detail"][0]["msg"]


def test_both_dialects_are_answered_on_the_route_of_decisions_each_with_its_own_limit(server: Server) -> None:
    predicate = {"type": "predicate", "instructions": "x"}
    body = {"model": "tiny", "input": "s", "questions": [predicate] * 65}
    assert len(server.ask(body, "/v1/decisions").json["answers"]) == 65
    ours = server.ask({"decisions": [decision(id=str(number)) for number in range(65)]}, "/v1/decisions")
    assert (ours.status, ours.json["error"]) == (400, "decisions: 65 given; 1 to 64 allowed")
    theirs = server.ask(body | {"questions": [predicate] * 401}, "/v1/decisions")
    assert (theirs.status, theirs.json["error"]["message"]) == (400, "questions: 401 given; 1 to 400 allowed")
    assert "result" in server.ask({"decision": decision()}, "/v1/decisions").json


def test_an_openai_predicate_is_the_noul_of_system_one_bit_for_bit(server: Server) -> None:
    noul = system_one(server, {"q": {"type": "noul", "instructions": "They want money."}}, state="Pay me back.")
    body = {
        "model": "tiny",
        "input": "Pay me back.",
        "questions": [{"type": "predicate", "instructions": "They want money."}],
    }
    assert server.ask(body).json["answers"][0]["probability"] == noul["answers"]["q"]["noul"]


def test_the_package_raises_its_own_errors_with_code_and_place(server: Server) -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png"}
    with pytest.raises(openai.BadRequestError) as caught:
        client(server).decisions.create(
            model="tiny",
            input=[{"role": "user", "content": [image]}],  # type: ignore[list-item, misc] # checked by the server here
            questions=[{"type": "predicate", "instructions": "x"}],
        )
    assert (caught.value.code, caught.value.param) == ("bad_value", "input[0].content[0].type")
    assert caught.value.request_id
    with pytest.raises(openai.NotFoundError) as missing:
        client(server).decisions.create(
            model="no-such", input="x", questions=[{"type": "predicate", "instructions": "x"}]
        )
    assert missing.value.code == "model_not_found"


def test_the_package_lists_the_models(server: Server) -> None:
    assert [model.id for model in client(server).models.list()] == ["tiny", "jev-latest", "gpt-6-luna", "in-house"]


# the API key


def test_without_the_setting_every_authorization_is_ignored(server: Server) -> None:
    for headers in ({}, {"Authorization": "Basic eA=="}, {"Authorization": "Bearer \xff"}):
        reply = server.request("POST", "/invocations", json.dumps({"decision": decision()}).encode(), headers)
        assert reply.status == 200


def test_the_key_is_asked_for_on_every_route_of_the_model_and_is_never_logged(guarded: Server) -> None:
    body = json.dumps(
        {"model": "tiny", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}
    ).encode()
    for route, method in (("/v1/systemone", "POST"), ("/invocations", "POST"), ("/v1/models", "GET")):
        for wrong in (None, f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", KEY, f"Basic {KEY}", "Bearer", "Bearer \xe9"):
            headers = {} if wrong is None else {"Authorization": wrong}
            reply = guarded.request(method, route, body if method == "POST" else None, headers)
            assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
        right = guarded.request(method, route, body if method == "POST" else None, {"Authorization": f"bearer {KEY}"})
        assert right.status == 200
    refused = guarded.request("POST", "/v1/systemone", body)
    assert refused.json["detail"]["error_type"] == "authentication_error"
    assert guarded.ping().status == 200
    assert KEY not in guarded.err + guarded.out


def test_clients_with_the_key_are_answered_and_others_get_their_own_authentication_errors(guarded: Server) -> None:
    with typesafe(guarded, api_key=KEY) as sdk:
        assert sdk.system_one(state="s", questions={"q": QUESTIONS["refund"]}).nouls
    with typesafe(guarded) as sdk, pytest.raises(TypeSafeAPIError) as refused:
        sdk.system_one(state="s", questions={"q": QUESTIONS["refund"]})
    assert refused.value.status == 401
    with pytest.raises(openai.AuthenticationError):
        client(guarded).decisions.create(
            model="tiny", input="x", questions=[{"type": "predicate", "instructions": "x"}]
        )


# errors where no body tells the dialect


def asked_of(package: OpenAI, **changes: Any) -> Any:
    predicate: Any = {"type": "predicate", "instructions": "x"}
    return package.decisions.create(**({"model": "tiny", "input": "x", "questions": [predicate]} | changes))


def test_the_package_shows_our_sentence_for_every_error_that_comes_before_a_body_is_read(
    server: Server, guarded: Server
) -> None:
    with client(guarded) as refused:
        for call in (lambda: asked_of(refused), refused.models.list):
            with pytest.raises(openai.AuthenticationError, match="Authorization: not the API key") as caught:
                call()
            assert caught.value.code == "authentication_error"
    with client(server) as package:
        with pytest.raises(openai.APIStatusError, match="at most 65536 allowed") as large:
            asked_of(package, input="x" * 70_000)
        with pytest.raises(openai.APIStatusError, match="send application/json") as typed:
            asked_of(package, extra_headers={"Content-Type": "text/csv"})
        with pytest.raises(openai.NotFoundError, match="no route '/v1/embeddings'; there are") as missing:
            package.embeddings.create(model="tiny", input="x")
        with pytest.raises(openai.NotFoundError, match="no route '/v1/models/tiny'"):
            package.models.retrieve("tiny")
        with pytest.raises(openai.APIStatusError, match="not allowed; use POST") as method:
            package.get("/decisions", cast_to=object)
        with pytest.raises(openai.BadRequestError, match="2 to 255 allowed"):
            package.post("/decisions", body={"decision": decision(options=[])}, cast_to=object)
    codes = [error.value.code for error in (large, typed, missing, method)]
    assert codes == ["body_too_large", "unsupported_media_type", "not_found", "method_not_allowed"]


def test_the_sdk_shows_our_sentence_for_those_errors_too(server: Server, guarded: Server) -> None:
    with typesafe(guarded) as sdk:
        with pytest.raises(TypeSafeAPIError, match="Authorization"):
            sdk.models.list()
        with pytest.raises(TypeSafeAPIError, match="Authorization"):
            sdk.system_one(state="s", questions={"q": QUESTIONS["refund"]})
    with typesafe(server) as sdk, pytest.raises(TypeSafeAPIError, match="at most 65536 allowed") as large:
        sdk.system_one(state="x" * 70_000, questions={"q": QUESTIONS["refund"]})
    assert large.value.body["detail"]["error_type"] == "body_too_large"


def test_the_route_of_system_one_keeps_its_shape_whoever_asks_and_ours_is_told_to_others(server: Server) -> None:
    package = {"X-Stainless-Lang": "python", "Content-Type": "text/csv"}
    assert "detail" in server.request("POST", "/v1/systemone", b"{}", package).json
    assert "message" in server.request("POST", "/v1/decisions", b"{}", package).json["error"]
    plain = server.request("POST", "/v1/decisions", b"{}", {"Content-Type": "text/csv"})
    assert (plain.status, plain.json["code"]) == (415, "unsupported_media_type")
    assert server.request("GET", "/elsewhere").json["code"] == "not_found"


def system_one(server: Server, questions: dict[str, Any], *, state: Any = STATE) -> Any:
    reply = server.ask({"model": "jev-latest", "state": state, "questions": questions}, "/v1/systemone")
    assert reply.status == 200, reply.json
    return reply.json
