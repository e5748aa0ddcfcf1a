"""Faults in the dialects of other clients, on the server's own app around a fake engine: errors in their own shapes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.serving.server import FAKE, Server, decision


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"DECISION_QUEUE_SIZE": "1", "DECISION_DEADLINE_SECONDS": "30"}
    with Server(FAKE, tmp_path_factory.mktemp("log"), settings) as started:
        yield started


def system_one(milliseconds: int, count: int = 1) -> dict[str, Any]:
    question = {"type": "noul", "instructions": f"work {milliseconds}"}
    return {"model": "fake", "state": "s", "questions": {str(number): question for number in range(count)}}


def openai_decision(milliseconds: int, count: int = 1) -> dict[str, Any]:
    question = {"type": "predicate", "instructions": f"work {milliseconds}"}
    return {"model": "fake", "input": "s", "questions": [question] * count}


@pytest.mark.parametrize(
    ("route", "many"), [("/v1/systemone", system_one(10, 400)), ("/v1/decisions", openai_decision(10, 400))]
)
def test_a_decision_is_answered_while_four_hundred_questions_are_still_asked(
    server: Server, route: str, many: dict[str, Any]
) -> None:
    with ThreadPoolExecutor(1) as other:
        large = other.submit(server.ask, many, route)
        server.until(lambda: server.metric("decision_queue_depth") == 1)
        small = server.ask({"decision": decision(question="work 1")})
        assert (small.status, large.done()) == (200, False)
        assert len(large.result().json["answers"]) == 400


def test_a_full_queue_is_told_in_the_shape_of_each_dialect(server: Server) -> None:
    with ThreadPoolExecutor(2) as others:
        running = [others.submit(server.ask, system_one(500)) for _ in range(2)]
        server.until(lambda: server.metric("decision_queue_depth") == 2)
        theirs, ours = server.ask(system_one(1)), server.ask(openai_decision(1))
        assert [one.result().status for one in running] == [200, 200]
    assert (theirs.status, theirs.json["detail"]["error_type"]) == (503, "queue_full")
    assert theirs.json["x_retry_after_seconds"] == int(theirs.headers["Retry-After"])
    assert (ours.status, ours.json["error"]["type"], ours.json["error"]["code"]) == (503, "server_error", "queue_full")
    assert ours.json["error"]["retry_after_seconds"] == int(ours.headers["Retry-After"])


def test_while_the_model_loads_each_route_says_so_in_its_own_shape(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {"FAKE_LOAD": str(tmp_path / "never")}, wait=False) as loading:
        told = loading.ask(system_one(1), "/v1/systemone")
        assert (told.status, told.json["detail"]["error_type"]) == (503, "not_ready")
        assert loading.request("GET", "/v1/models").json["error"]["code"] == "not_ready"
        client = OpenAI(base_url=f"http://127.0.0.1:{loading.port}/v1", api_key="any", max_retries=0)
        with client, pytest.raises(openai.InternalServerError, match="still loading") as caught:
            client.decisions.create(model="fake", input="s", questions=[{"type": "predicate", "instructions": "x"}])
        assert caught.value.code == "not_ready"
        assert loading.ask(system_one(1)).json["detail"]["error_type"] == "not_ready"
        (tmp_path / "never").touch()


def test_an_engine_that_fails_is_told_in_the_shape_of_the_dialect(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {}) as dying:
        body = system_one(1) | {"questions": {"q": {"type": "noul", "instructions": "die"}}}
        told = dying.ask(body)
        assert (told.status, told.json["detail"]["error_type"]) == (500, "internal")
        assert told.json["x_request_id"] in dying.err
        assert dying.process.wait(30) == 3


def test_no_text_of_a_request_gets_into_the_log(server: Server) -> None:
    secret = "zebra-7f3a"
    question = {"type": "noul", "instructions": secret, "criteria": {"true": secret}}
    server.ask({"model": "fake", "state": secret, "questions": {secret: question}})
    server.ask({"model": secret, "state": secret, "questions": {secret: 1}})
    server.ask({"model": "fake", "input": secret, "questions": [{"type": secret, "name": secret}]})
    assert secret not in server.err
    assert server.log_line('"systemone"')["code"] in ("ok", "queue_full")
