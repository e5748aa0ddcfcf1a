"""Answers that begin in time and arrive a little at a time: the deadline holds to their last byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from client.decisions import DecisionClient, DecisionError
from tests.client.client_process import environment
from tests.client.gateway_process import CREDENTIALS
from tests.client.test_answer_shapes import DECISION, RESULT
from tests.client.trickling import trickling

BODY = json.dumps({"result": RESULT}).encode()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_trickles_past_the_deadline_is_given_up(chunked: bool) -> None:
    with trickling(BODY, chunked=chunked) as server, DecisionClient.http(server.url) as client:
        with pytest.raises(DecisionError) as failed:
            client.decide(DECISION, deadline_seconds=0.4)
        assert (failed.value.code, failed.value.retryable) == ("deadline_exceeded", True)
        assert client.decide(DECISION).model == "m"


def test_the_body_of_an_endpoint_that_trickles_past_the_deadline_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with trickling(BODY) as server:
        asked = {**CREDENTIALS, "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": server.url}
        for name, value in environment(tmp_path, asked).items():
            if name.startswith("AWS_"):
                monkeypatch.setenv(name, value)
        with DecisionClient.sagemaker("any", region="eu-north-1") as client:
            with pytest.raises(DecisionError) as failed:
                client.decide(DECISION, deadline_seconds=0.4)
            assert (failed.value.code, failed.value.retryable) == ("deadline_exceeded", True)
            assert client.decide(DECISION).model == "m"
