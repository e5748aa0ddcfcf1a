"""`python -m client invoke-async` on an AWS in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client.conftest import OPTIONS, Program, decision
from tests.client.fake_aws import BUCKET, ENDPOINT, FakeCloudFormation


def result(id_: str) -> dict[str, Any]:
    timing = {"queue_seconds": 0.0, "encode_seconds": 0.0, "forward_seconds": 0.1, "total_seconds": 0.1}
    return {
        "id": id_,
        "option_ids": [each["id"] for each in OPTIONS],
        "probabilities": [0.75, 0.25],
        "option_logits": [1.1, 0.0],
        "input_tokens": 12,
        "allowed_token_mass": 0.9,
        "timing": {**timing, "cached_tokens": 3},
    }


def invoke(cli: Program, given: object, *more: str) -> int:
    path = cli.write(given, name="in.json")
    return cli.run("invoke-async", "--endpoint-name", ENDPOINT, "--input", str(path), *more)


def test_the_answer_is_shown_as_a_table_and_kept_as_json(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    cli.clients.runtime.output = json.dumps({"result": result("d1")}).encode()
    assert invoke(cli, decision(1), "--output", str(cli.out)) == 0
    shown = capsys.readouterr().out
    assert "So?" in shown
    assert "▶ yes   75.0%" in shown
    assert json.loads(cli.out.read_text())["result"]["id"] == "d1"
    request = cli.clients.runtime.asked[0]
    assert request["EndpointName"] == ENDPOINT
    key = request["InputLocation"].removeprefix(f"s3://{BUCKET}/")
    assert key.startswith(f"async/{ENDPOINT}/input/")
    assert json.loads(cli.s3.objects[key]) == {"decision": decision(1)}


def test_several_decisions_are_asked_together(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    cli.clients.runtime.output = json.dumps({"results": [result("d1"), result("d2")]}).encode()
    asked = {"decisions": [decision(1), decision(2, question="Or so?")]}
    assert invoke(cli, asked) == 0
    shown = capsys.readouterr().out
    assert shown.index("So?") < shown.index("Or so?")


def test_a_failure_is_told_with_exit_code_1(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    cli.clients.runtime.failure = b"Received client error (413) from primary"
    assert invoke(cli, decision(1)) == 1
    assert "Received client error (413)" in capsys.readouterr().err


def test_no_answer_in_time_is_exit_code_3_and_says_where_it_will_be(
    cli: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(cli, decision(1), "--wait-seconds", "0") == 3
    assert f"s3://{BUCKET}/async/out" in capsys.readouterr().err


def test_without_waiting_the_place_of_the_answer_is_said(cli: Program, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(cli, decision(1), "--no-wait") == 0
    assert capsys.readouterr().out == f"s3://{BUCKET}/async/out\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [("{", "in.json: not JSON"), ({"decision": decision(1, options=[])}, "decision.options: 0 given")],
)
def test_an_input_that_cannot_be_asked_is_refused_and_nothing_is_sent(
    cli: Program, capsys: pytest.CaptureFixture[str], given: object, message: str
) -> None:
    assert invoke(cli, given) == 2
    assert message in capsys.readouterr().err
    assert cli.s3.objects == {}


def test_an_endpoint_without_a_queue_says_which_setting_is_missing(
    cli: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.clients.cloudformation, "outputs", FakeCloudFormation({}).outputs)
    assert invoke(cli, decision(1)) == 2
    assert "hosting.asynchronous" in capsys.readouterr().err
