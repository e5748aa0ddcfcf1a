"""InvokeEndpoint as an upstream: one SDK client, and a time limit for each request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from client.errors import Refused
from client.transport.exchange import JSON, Request, Whole
from client.transport.failures import Failure
from client.transport.sagemaker import SageMakerEndpoint
from tests.client import fake_runtime
from tests.client.fake_runtime import ENDPOINT, Runtime
from tests.serving.server import FAKE, Server, decision


class Counting(boto3.Session):
    """A session that counts what is made of it."""

    made = 0

    def client(self, *arguments: Any, **more: Any) -> Any:
        self.made += 1
        return super().client(*arguments, **more)


def asks(**changes: Any) -> Request:
    body = json.dumps({"decision": decision(**changes)}).encode()
    return Request(method="POST", route="/invocations", body=body, headers={"content-type": JSON})


def test_one_client_serves_requests_of_every_time_limit(tiny_runtime: Runtime) -> None:
    session = Counting(region_name="eu-north-1")
    endpoint = SageMakerEndpoint(session, ENDPOINT, connections=2)
    for seconds in range(30, 40):
        answer = endpoint.send(asks(), timeout=seconds)
        assert isinstance(answer, Whole)
        assert answer.status == 200
    endpoint.close()
    assert session.made == 1
    assert len(tiny_runtime.asked) == 10


def test_each_request_has_the_time_that_it_was_given(
    tmp_path: Path, tiny_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(FAKE, tmp_path, {}) as slow, fake_runtime.running(slow.port) as runtime:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", runtime.url)
        endpoint = SageMakerEndpoint(boto3.Session(region_name="eu-north-1"), ENDPOINT, connections=2)
        with pytest.raises(Failure, match=r"no answer within 0\.2 s"):
            endpoint.send(asks(question="work 1000"), timeout=0.2)
        answer = endpoint.send(asks(question="work 300"), timeout=60.0)
        endpoint.close()
    assert isinstance(answer, Whole)
    assert answer.status == 200


def test_an_sdk_that_cannot_limit_a_request_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.__version__", "1.40.55")
    with pytest.raises(Refused, match="Remedy: pip install"):
        SageMakerEndpoint(boto3.Session(region_name="eu-north-1"), ENDPOINT, connections=1)
