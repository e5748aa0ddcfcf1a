"""In a transform job, a line that the caller got wrong has its error in place: a 4xx would cost other lines theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decision_server.config import load
from tests.serving.server import FAKE, Server, decision


@pytest.mark.parametrize("value", ["true", "True"])
def test_the_platform_says_that_it_is_a_transform_job(value: str) -> None:
    assert load({"SAGEMAKER_BATCH": value}).batch
    assert not load({}).batch
    assert not load({"SAGEMAKER_BATCH": "false"}).batch


def test_a_refusal_is_an_answer_in_place_and_what_may_yet_succeed_is_still_an_error(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {"SAGEMAKER_BATCH": "true", "DECISION_DEADLINE_SECONDS": "1"}) as server:
        refused = server.ask({"decision": decision(options=[])})
        assert refused.status == 200
        assert json.loads(refused.body)["code"] == "bad_value"
        assert json.loads(refused.body)["field"] == "decision.options"
        assert server.ask({"decision": decision()}).status == 200
        question = {"type": "noul", "instructions": "?"}
        stranger = server.ask({"model": "another", "state": "s", "questions": {"q": question}})
        assert (stranger.status, stranger.json["detail"]["error_type"]) == (200, "model_not_found")
        assert server.request("POST", "/invocations", b"{}", {"Content-Type": "text/csv"}).status == 415
        late = server.ask({"decision": decision(question="work 1500")})
        assert (late.status, json.loads(late.body)["retryable"]) == (504, True)
        line = next(each for each in server.log if each.get("code") == "bad_value")
        assert line["status"] == 400
