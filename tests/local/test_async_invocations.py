"""InvokeEndpointAsync of the emulator: answers and failures become objects, and requests wait their turn."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.conftest import Hosted, eventually


class Queue:
    def __init__(self, hosted: Hosted, name: str) -> None:
        self.hosted, self.name = hosted, name
        self.s3 = hosted.emulated.client("s3")
        self.runtime = hosted.emulated.client("sagemaker-runtime")

    def host(self, **output: Any) -> None:
        self.hosted.model(self.name)
        sagemaker = self.hosted.emulated.client("sagemaker")
        sagemaker.create_endpoint_config(
            EndpointConfigName=self.name,
            ProductionVariants=[
                {
                    "VariantName": "AllTraffic",
                    "ModelName": self.name,
                    "InitialInstanceCount": 1,
                    "InstanceType": "ml.c6i.large",
                }
            ],
            AsyncInferenceConfig={
                "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 1},
                "OutputConfig": {
                    "S3OutputPath": f"s3://{self.name}/out/",
                    "S3FailurePath": f"s3://{self.name}/failed/",
                    **output,
                },
            },
        )
        sagemaker.create_endpoint(EndpointName=self.name, EndpointConfigName=self.name)
        assert self.hosted.settled(self.name)["EndpointStatus"] == "InService"

    def ask(self, body: bytes, **more: Any) -> dict[str, Any]:
        key = f"in/{time.monotonic_ns()}"
        self.s3.put_object(Bucket=self.name, Key=key, Body=body)
        told: dict[str, Any] = self.runtime.invoke_endpoint_async(
            EndpointName=self.name, InputLocation=f"s3://{self.name}/{key}", ContentType="text/plain", **more
        )
        return told

    def content(self, url: str) -> bytes:
        def fetched() -> bytes | None:
            try:
                found: bytes = self.s3.get_object(Bucket=self.name, Key=url.removeprefix(f"s3://{self.name}/"))[
                    "Body"
                ].read()
            except ClientError:
                return None
            return found

        found: bytes = eventually(fetched)
        return found


@pytest.fixture
def queue(hosted: Hosted, unique: str) -> Queue:
    return Queue(hosted, unique)


def test_an_answer_becomes_an_object_where_the_call_says(queue: Queue) -> None:
    queue.host()
    told = queue.ask(b"hello", Accept="application/json", InferenceId="mine", CustomAttributes="trace=7")
    assert told["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert told["InferenceId"] == "mine"
    seen = json.loads(queue.content(told["OutputLocation"]))
    assert seen["body"] == "hello"
    assert seen["headers"]["content-type"] == "text/plain"
    assert seen["headers"]["accept"] == "application/json"
    assert seen["headers"]["x-amzn-sagemaker-custom-attributes"] == "trace=7"


def test_what_the_container_refuses_becomes_a_failure_object(queue: Queue) -> None:
    queue.host()
    told = queue.ask(b"status 413")
    content = queue.content(told["FailureLocation"]).decode()
    assert 'Received client error (413) from primary with message "{"error": "as asked"}"' in content
    with pytest.raises(ClientError, match="NoSuchKey"):
        queue.s3.get_object(Bucket=queue.name, Key=told["OutputLocation"].removeprefix(f"s3://{queue.name}/"))


def test_requests_wait_until_an_instance_is_free(queue: Queue) -> None:
    queue.host()
    first, second = queue.ask(b"wait 0.5"), queue.ask(b"status 400")
    queue.content(second["FailureLocation"])
    listed = queue.s3.list_objects_v2(Bucket=queue.name, Prefix="out/").get("Contents", [])
    assert [each["Key"] for each in listed] == [first["OutputLocation"].removeprefix(f"s3://{queue.name}/")]


def test_a_request_that_takes_longer_than_it_may_fails(queue: Queue) -> None:
    queue.host()
    told = queue.ask(b"wait 20", InvocationTimeoutSeconds=1)
    assert b"timed out" in queue.content(told["FailureLocation"])


def test_an_input_that_is_not_there_fails(queue: Queue) -> None:
    queue.host()
    told = queue.runtime.invoke_endpoint_async(
        EndpointName=queue.name, InputLocation=f"s3://{queue.name}/none", ContentType="text/plain"
    )
    assert b"The input could not be read" in queue.content(told["FailureLocation"])


def test_topics_are_left_out_and_the_endpoint_s_log_says_so(queue: Queue) -> None:
    topic = "arn:aws:sns:us-east-1:123456789012:done"
    queue.host(NotificationConfig={"SuccessTopic": topic})
    queue.content(queue.ask(b"hello")["OutputLocation"])
    logs = queue.hosted.emulated.client("logs")
    group = f"/aws/sagemaker/Endpoints/{queue.name}"
    stream = logs.describe_log_streams(logGroupName=group)["logStreams"][0]["logStreamName"]
    lines = [each["message"] for each in logs.get_log_events(logGroupName=group, logStreamName=stream)["events"]]
    assert any(f"topic {topic} is told nothing" in line for line in lines)


def test_each_kind_of_endpoint_is_asked_in_its_own_way_only(queue: Queue) -> None:
    queue.host()
    with pytest.raises(ClientError, match="is asynchronous; use InvokeEndpointAsync"):
        queue.hosted.ask(queue.name)
    with pytest.raises(ClientError, match="not found"):
        queue.runtime.invoke_endpoint_async(EndpointName="none", InputLocation="s3://b/k")


def test_no_update_makes_an_endpoint_asynchronous_or_real_time(queue: Queue) -> None:
    queue.host()
    hosted, real_time = queue.hosted, f"{queue.name}-now"
    hosted.config(real_time, queue.name)
    sagemaker = hosted.emulated.client("sagemaker")
    with pytest.raises(ClientError, match=f"AsyncInferenceConfig parameter cannot be removed from .* {queue.name}"):
        sagemaker.update_endpoint(EndpointName=queue.name, EndpointConfigName=real_time)
    sagemaker.create_endpoint(EndpointName=real_time, EndpointConfigName=real_time)
    assert hosted.settled(real_time)["EndpointStatus"] == "InService"
    with pytest.raises(ClientError, match=f"AsyncInferenceConfig parameter cannot be added to .* {real_time}"):
        sagemaker.update_endpoint(EndpointName=real_time, EndpointConfigName=queue.name)
    assert hosted.settled(real_time)["EndpointConfigName"] == real_time


def test_a_real_time_endpoint_has_no_queue(hosted: Hosted, unique: str) -> None:
    hosted.model(unique)
    hosted.config(unique, unique)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    hosted.settled(unique)
    with pytest.raises(ClientError, match="has no AsyncInferenceConfig"):
        Queue(hosted, unique).ask(b"hello")
