"""A body that takes longer to send than a connection may take to be made: it has what is left of the deadline."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import boto3
import pytest
from urllib3 import PoolManager

from client.decisions import DecisionClient, DecisionError
from client.errors import Refused
from client.transport import targets
from client.transport.exchange import JSON, Request, Upstream, Whole
from client.transport.failures import Failure
from client.transport.plain_server import PlainServer
from client.transport.sagemaker import SageMakerEndpoint
from client.transport.time_limits import NotSent, ends_in, limit_uploads, limit_uploads_of_botocore, spelled
from tests.client.client_process import environment
from tests.client.fake_runtime import ENDPOINT
from tests.client.gateway_process import CREDENTIALS
from tests.client.slow_reader import BODY, SlowReader, slow_reader

CONNECT = 0.2
UPLOAD = Request(method="POST", route="/invocations", body=BODY, headers={"content-type": JSON})


@pytest.fixture
def reader() -> Iterator[SlowReader]:
    with slow_reader() as server:
        yield server


@pytest.fixture
def endpoint(reader: SlowReader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SageMakerEndpoint]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    there = {**CREDENTIALS, "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": reader.url}
    for name, value in environment(tmp_path, there).items():
        monkeypatch.setenv(name, value)
    one = SageMakerEndpoint(boto3.Session(), ENDPOINT, connections=1, connect_seconds=CONNECT)
    yield one
    one.close()


@pytest.fixture
def plain(reader: SlowReader) -> Iterator[PlainServer]:
    one = PlainServer(reader.url, connections=1, connect_seconds=CONNECT)
    yield one
    one.close()


@pytest.fixture(params=["plain", "endpoint"])
def upstream(request: pytest.FixtureRequest) -> Upstream:
    found: Upstream = request.getfixturevalue(request.param)
    return found


def test_an_upload_may_take_longer_than_connecting_on_a_new_connection_and_on_a_kept_one(
    upstream: Upstream, reader: SlowReader
) -> None:
    reader.after = 3 * CONNECT
    for _ in range(2):
        answer = upstream.send(UPLOAD, timeout=60.0)
        assert isinstance(answer, Whole)
        assert answer.status == 200
    assert reader.read == [len(BODY)] * 2


def test_an_upload_that_ends_past_the_deadline_is_told_as_the_deadline(upstream: Upstream, reader: SlowReader) -> None:
    reader.after = None
    with pytest.raises(Failure, match=r"not sent whole within 0\.5 s; its body has \d+ bytes") as failed:
        upstream.send(UPLOAD, timeout=0.5)
    assert (failed.value.code, failed.value.status) == ("deadline_exceeded", 504)
    reader.after = 3 * CONNECT
    answer = upstream.send(UPLOAD, timeout=60.0)
    assert isinstance(answer, Whole)


def test_a_decision_client_s_upload_has_all_of_the_deadline(
    reader: SlowReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "PlainServer", partial(PlainServer, connect_seconds=CONNECT))
    with DecisionClient.http(reader.url) as client:
        reader.after = 3 * CONNECT
        with pytest.raises(DecisionError) as answered:  # by {}, which is no answer: the body has arrived
            client.ask_body({"state": "x" * len(BODY), "questions": {}})
        assert (answered.value.code, answered.value.status) == ("not_understood", 200)
        reader.after = None
        with pytest.raises(DecisionError, match="not sent whole") as late:
            client.ask_body({"state": "x" * len(BODY), "questions": {}}, deadline_seconds=0.5)
        assert (late.value.code, late.value.status) == ("deadline_exceeded", None)


def test_a_server_that_does_not_greet_in_time_is_not_connected_and_told_plainly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # TLS waits for its first word
        one = PlainServer(f"https://127.0.0.1:{mute.getsockname()[1]}", connections=1, connect_seconds=CONNECT)
        with pytest.raises(Failure, match=r"no server there: the connection was not made in time\. Remedy") as failed:
            one.send(UPLOAD, timeout=60.0)
        one.close()
    assert failed.value.code == "not_connected"


def test_connecting_too_has_no_more_than_is_left() -> None:
    with PoolManager(retries=False) as pool:
        limit_uploads(pool)
        with ends_in(0.0), pytest.raises(NotSent, match="no connection was made"):
            pool.request("GET", "http://127.0.0.1:9", timeout=5.0)


def test_a_connection_that_the_deadline_ends_is_told_as_the_deadline(upstream: Upstream) -> None:
    with pytest.raises(Failure, match=r"no connection was made within 1e-09 s") as failed:
        upstream.send(UPLOAD, timeout=1e-9)
    assert failed.value.code == "deadline_exceeded"


def test_an_sdk_whose_uploads_cannot_be_limited_is_refused(
    endpoint: SageMakerEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AttributeError):
        limit_uploads_of_botocore(object())
    monkeypatch.setattr("client.transport.sagemaker.limit_uploads_of_botocore", lambda client: client.no_such_part)
    with pytest.raises(Refused, match=r"a slow upload would break\. Remedy: pip install"):
        SageMakerEndpoint(boto3.Session(), ENDPOINT, connections=1)


def test_a_little_time_is_never_told_as_none() -> None:
    assert [spelled(seconds) for seconds in (60.0, 1.24, 0.5, 0.0123, 0.0004)] == [
        "60.0 s",
        "1.2 s",
        "0.5 s",
        "0.012 s",
        "0.0004 s",
    ]
