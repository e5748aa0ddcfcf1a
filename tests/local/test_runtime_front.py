"""InvokeEndpoint of the emulator: what reaches the container, and what of its answer reaches the caller."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from local.emulator import runtime_front
from local.emulator.aws_errors import AwsError
from local.emulator.containers import Container
from local.emulator.records import EndpointRecord
from local.emulator.scope import Scope
from tests.local.conftest import Hosted

SCOPE = Scope(account="123456789012", region="us-east-1")


@pytest.fixture
def endpoint(hosted: Hosted, unique: str) -> str:
    hosted.model(unique)
    hosted.config(unique, unique)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    assert hosted.settled(unique)["EndpointStatus"] == "InService"
    return unique


def test_body_media_types_and_custom_attributes_pass_both_ways(hosted: Hosted, endpoint: str) -> None:
    response = hosted.emulated.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        Body='{"ä": 1}'.encode(),
        ContentType="application/json; charset=utf-8",
        Accept="application/json",
        CustomAttributes="trace=7",
        TargetVariant="AllTraffic",
    )
    told = json.loads(response["Body"].read())
    assert told["body"] == '{"ä": 1}'
    assert told["headers"]["content-type"] == "application/json; charset=utf-8"
    assert told["headers"]["accept"] == "application/json"
    assert response["ContentType"] == "application/json"
    assert response["CustomAttributes"] == "trace=7"
    assert response["InvokedProductionVariant"] == "AllTraffic"


def test_the_caller_s_credentials_do_not_reach_the_container(hosted: Hosted, endpoint: str) -> None:
    headers = hosted.ask(endpoint)["headers"]
    assert not {name for name in headers if name in ("authorization", "x-amz-date", "x-amz-security-token")}


@pytest.mark.parametrize(("status", "side"), [(400, "client"), (413, "client"), (503, "server")])
def test_an_error_of_the_container_is_a_model_error_with_its_status_and_body(
    hosted: Hosted, endpoint: str, status: int, side: str
) -> None:
    with pytest.raises(ClientError) as failed:
        hosted.ask(endpoint, f"status {status}".encode())
    response = cast(dict[str, Any], failed.value.response)
    assert response["Error"]["Code"] == "ModelError"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert response["OriginalStatusCode"] == status
    assert response["OriginalMessage"] == '{"error": "as asked"}'
    assert response["Error"]["Message"].startswith(f'Received {side} error ({status}) from primary with message "')
    group = f"log-group:/aws/sagemaker/Endpoints/{endpoint}:log-stream:AllTraffic/i-"
    assert group in response["LogStreamArn"]


def test_a_variant_that_is_not_there_is_refused(hosted: Hosted, endpoint: str) -> None:
    with pytest.raises(ClientError, match="Variant Other not found"):
        hosted.ask(endpoint, TargetVariant="Other")


def test_a_container_that_does_not_answer_in_time_is_a_model_error_of_status_0() -> None:
    with silent_container() as port, pytest.raises(AwsError) as failed:
        invoke(port, timeout=0.2)
    assert (failed.value.code, failed.value.members["OriginalStatusCode"]) == ("ModelError", 0)
    assert "timed out while waiting for a response from container primary" in failed.value.message


def test_a_container_that_is_not_running_is_service_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: a connection is refused
        with pytest.raises(AwsError) as failed:
            invoke(taken.getsockname()[1], timeout=5)
    assert (failed.value.code, failed.value.status) == ("ServiceUnavailable", 503)


def test_a_body_over_the_limit_of_invoke_endpoint_is_refused_unsent() -> None:
    with pytest.raises(AwsError, match="26214401 bytes exceeds the limit of 26214400"):
        invoke(1, timeout=5, body=b"x" * 26_214_401)


class Somewhere:
    """As much of a container as the front sees."""

    log_group, log_stream = "group", "stream"

    def __init__(self, port: int) -> None:
        self.port = port


def invoke(port: int, *, timeout: float, body: bytes = b"{}") -> None:
    record = EndpointRecord(name="e", arn="arn", config_name="c", created=0.0, modified=0.0, status="InService")
    fleet = {"AllTraffic": cast(Container, Somewhere(port))}
    runtime_front.invoke(SCOPE, "e", {}, body, find=lambda name: (record, fleet), timeout=timeout)


@contextmanager
def silent_container() -> Iterator[int]:
    """Accepts a connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[socket.socket] = []
        thread = threading.Thread(target=lambda: accepted.append(server.accept()[0]))
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)
        for connection in accepted:
            connection.close()
