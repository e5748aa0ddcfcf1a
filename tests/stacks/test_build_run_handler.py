"""The custom resource's handler against botocore's own model of S3, ECR, CodeBuild and CloudWatch Logs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from stacks.build_run_handler import handler
from stacks.build_run_handler.builds import BuildFailed

TRIGGER, SHA = "1f" * 32, "2e" * 32
DIGEST = "sha256:" + "3d" * 32
MODEL_RESULT = {"kind": "model", "trigger": TRIGGER, "key": f"models/{SHA}/model.tar.gz", "sha256": SHA, "bytes": 7}
IMAGE_RESULT = {"kind": "image", "trigger": TRIGGER, "tag": "cpu-x", "digest": DIGEST, "uri": f"registry/name@{DIGEST}"}
STARTED = {"build": {"id": "project:42"}}


class Aws:
    """Stubs of the four clients; each expects exactly the calls that a test names, in order."""

    def __init__(self) -> None:
        self.clients = {
            name: boto3.client(
                name, region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
            )
            for name in ("s3", "ecr", "codebuild", "logs")
        }
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}

    def expect(self, service: str, call: str, answer: dict[str, Any], **parameters: Any) -> None:
        self.stubs[service].add_response(call, answer, parameters)

    def refuse(self, service: str, call: str, code: str, status: int, **parameters: Any) -> None:
        self.stubs[service].add_client_error(call, code, http_status_code=status, expected_params=parameters)

    def result(self, kind: str, result: dict[str, Any] | None) -> None:
        place = {"Bucket": "artifacts", "Key": f"results/{kind}-{TRIGGER}.json"}
        if result is None:
            self.refuse("s3", "get_object", "NoSuchKey", 404, **place)
            return
        body = json.dumps(result).encode()
        self.expect("s3", "get_object", {"Body": StreamingBody(io.BytesIO(body), len(body))}, **place)

    def archive_exists(self) -> None:
        self.expect("s3", "head_object", {}, Bucket="artifacts", Key=f"models/{SHA}/model.tar.gz")

    def image_exists(self) -> None:
        self.expect(
            "ecr",
            "describe_images",
            {"imageDetails": [{"imageDigest": DIGEST}]},
            repositoryName="images",
            imageIds=[{"imageDigest": DIGEST}],
        )

    def discard(self, kind: str) -> None:
        self.expect("s3", "delete_object", {}, Bucket="artifacts", Key=f"results/{kind}-{TRIGGER}.json")

    def start(self, **variables: str) -> None:
        self.expect(
            "codebuild",
            "start_build",
            STARTED,
            projectName="project",
            sourceTypeOverride="S3",
            sourceLocationOverride="assets/source.zip",
            environmentVariablesOverride=[
                {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in sorted(variables.items())
            ],
            idempotencyToken="request-1",
        )

    def build(self, **fields: Any) -> None:
        self.expect("codebuild", "batch_get_builds", {"builds": [{"id": "project:42", **fields}]}, ids=["project:42"])


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    stubbed = Aws()
    monkeypatch.setattr(boto3, "client", stubbed.clients.__getitem__)
    monkeypatch.setenv("ARTIFACT_BUCKET", "artifacts")
    monkeypatch.setenv("REPOSITORY_NAME", "images")
    for stub in stubbed.stubs.values():
        stub.activate()
    yield stubbed
    for stub in stubbed.stubs.values():
        stub.assert_no_pending_responses()


def event(request_type: str, *, kind: str = "model", **more: Any) -> dict[str, Any]:
    variables = {"DECLARATION": "x.toml"} if kind == "model" else {"TARGET": "cpu"}
    return {
        "RequestType": request_type,
        "RequestId": "request-1",
        "ResourceProperties": {
            "ServiceToken": "arn:x",
            "Kind": kind,
            "Trigger": TRIGGER,
            "ProjectName": "project",
            "SourceLocation": "assets/source.zip",
            "Variables": variables,
        },
        **more,
    }


def test_a_result_that_is_there_is_returned_without_a_build(aws: Aws) -> None:
    aws.result("model", MODEL_RESULT)
    aws.archive_exists()
    started = handler.on_event(event("Create"))
    assert started == {"PhysicalResourceId": "project/model"}
    aws.result("model", MODEL_RESULT)
    aws.archive_exists()
    assert handler.is_complete({**event("Create"), **started}) == {
        "IsComplete": True,
        "Data": {"Key": f"models/{SHA}/model.tar.gz", "Sha256": SHA},
    }


def test_a_model_that_is_not_packed_is_known_by_its_manifest(aws: Aws) -> None:
    prefix = f"models/{SHA}/model/"
    aws.build(buildStatus="SUCCEEDED")
    aws.result("model", {**MODEL_RESULT, "key": prefix})
    aws.expect("s3", "head_object", {}, Bucket="artifacts", Key=f"{prefix}manifest.json")
    complete = handler.is_complete(event("Create", BuildId="project:42"))
    assert complete["Data"] == {"Key": prefix, "Sha256": SHA}


def test_a_build_is_told_the_commit_that_its_source_is_of_where_one_is_known(aws: Aws) -> None:
    aws.result("model", None)
    aws.discard("model")
    aws.start(DECLARATION="x.toml", SOURCE_CHANGED="false", SOURCE_COMMIT="c0" * 20, TRIGGER=TRIGGER)
    asked = event("Create")
    asked["ResourceProperties"] |= {"SourceCommit": "c0" * 20, "SourceChanged": "false"}
    assert handler.on_event(asked)["BuildId"] == "project:42"


def test_an_image_result_becomes_digest_and_uri(aws: Aws) -> None:
    aws.result("image", IMAGE_RESULT)
    aws.image_exists()
    assert handler.is_complete(event("Update", kind="image")) == {
        "IsComplete": True,
        "Data": {"Digest": DIGEST, "Uri": f"registry/name@{DIGEST}"},
    }


def test_without_a_result_a_build_starts_with_source_trigger_and_variables(aws: Aws) -> None:
    aws.result("model", None)
    aws.discard("model")
    aws.start(DECLARATION="x.toml", TRIGGER=TRIGGER)
    assert handler.on_event(event("Create")) == {"PhysicalResourceId": "project/model", "BuildId": "project:42"}


def test_an_update_keeps_its_physical_id_whatever_it_is(aws: Aws) -> None:
    aws.result("image", None)
    aws.discard("image")
    aws.start(TARGET="cpu", TRIGGER=TRIGGER)
    answer = handler.on_event(event("Update", kind="image", PhysicalResourceId="given/before"))
    assert answer["PhysicalResourceId"] == "given/before"


@pytest.mark.parametrize("kind", ["model", "image"])
def test_a_result_that_names_something_deleted_is_discarded_and_built_anew(aws: Aws, kind: str) -> None:
    if kind == "model":
        aws.result(kind, MODEL_RESULT)
        aws.refuse("s3", "head_object", "404", 404, Bucket="artifacts", Key=f"models/{SHA}/model.tar.gz")
        aws.discard(kind)
        aws.start(DECLARATION="x.toml", TRIGGER=TRIGGER)
    else:
        aws.result(kind, IMAGE_RESULT)
        image = {"repositoryName": "images", "imageIds": [{"imageDigest": DIGEST}]}
        aws.refuse("ecr", "describe_images", "ImageNotFoundException", 400, **image)
        aws.discard(kind)
        aws.start(TARGET="cpu", TRIGGER=TRIGGER)
    assert handler.on_event(event("Create", kind=kind))["BuildId"] == "project:42"


@pytest.mark.parametrize("kind", ["model", "image"])
def test_delete_touches_nothing_and_is_done_at_once(aws: Aws, kind: str) -> None:
    deletion = event("Delete", kind=kind, PhysicalResourceId="project/x")
    assert handler.on_event(deletion) == {"PhysicalResourceId": "project/x"}
    assert handler.is_complete(deletion) == {"IsComplete": True}


def test_a_running_build_is_not_complete(aws: Aws) -> None:
    aws.build(buildStatus="IN_PROGRESS")
    assert handler.is_complete(event("Create", BuildId="project:42")) == {"IsComplete": False}


def test_a_build_that_succeeded_hands_over_its_result(aws: Aws) -> None:
    aws.build(buildStatus="SUCCEEDED")
    aws.result("model", MODEL_RESULT)
    aws.archive_exists()
    assert handler.is_complete(event("Create", BuildId="project:42"))["Data"]["Sha256"] == SHA


def test_a_build_that_succeeded_without_a_result_is_an_error_that_names_the_place(aws: Aws) -> None:
    aws.build(buildStatus="SUCCEEDED")
    aws.result("model", None)
    with pytest.raises(RuntimeError, match=f"project:42 .*s3://artifacts/results/model-{TRIGGER}.json"):
        handler.is_complete(event("Create", BuildId="project:42"))


def test_a_failed_build_says_phase_message_link_and_last_lines(aws: Aws) -> None:
    phases = [
        {"phaseType": "INSTALL", "phaseStatus": "SUCCEEDED"},
        {
            "phaseType": "BUILD",
            "phaseStatus": "FAILED",
            "contexts": [{"statusCode": "COMMAND_EXECUTION_ERROR", "message": "exit status 1"}],
        },
        {"phaseType": "COMPLETED"},
    ]
    place = {"deepLink": "https://console/log", "groupName": "group", "streamName": "stream"}
    aws.build(buildStatus="FAILED", phases=phases, logs=place)
    lines = [{"message": "sha256: 00 given\n"}, {"message": "11 needed\n"}]
    where = {"logGroupName": "group", "logStreamName": "stream", "limit": 15, "startFromHead": False}
    aws.expect("logs", "get_log_events", {"events": lines}, **where)
    with pytest.raises(BuildFailed) as caught:
        handler.is_complete(event("Create", BuildId="project:42"))
    assert str(caught.value).splitlines() == [
        "build project:42 FAILED: phase BUILD FAILED (exit status 1)",
        "Log: https://console/log",
        "Last lines of the log:",
        "sha256: 00 given",
        "11 needed",
    ]


def test_a_failed_builds_reason_stays_short_enough_for_cloudformation(aws: Aws) -> None:
    aws.build(buildStatus="TIMED_OUT", logs={"groupName": "group", "streamName": "stream"})
    lines = [{"message": f"{number} " + "x" * 1000} for number in range(15)]
    where = {"logGroupName": "group", "logStreamName": "stream", "limit": 15, "startFromHead": False}
    aws.expect("logs", "get_log_events", {"events": lines}, **where)
    with pytest.raises(BuildFailed) as caught:
        handler.is_complete(event("Create", BuildId="project:42"))
    assert str(caught.value).startswith("build project:42 TIMED_OUT: no phase reports a failure")
    assert len(str(caught.value)) < 1500


def test_a_build_that_failed_before_its_first_line_is_reported_without_a_log(aws: Aws) -> None:
    aws.build(buildStatus="FAULT", logs={"groupName": "group", "streamName": "stream"})
    where = {"logGroupName": "group", "logStreamName": "stream", "limit": 15, "startFromHead": False}
    aws.refuse("logs", "get_log_events", "ResourceNotFoundException", 400, **where)
    with pytest.raises(BuildFailed, match=r"^build project:42 FAULT: no phase reports a failure$"):
        handler.is_complete(event("Create", BuildId="project:42"))


def test_a_build_that_codebuild_forgot_is_an_error(aws: Aws) -> None:
    aws.expect("codebuild", "batch_get_builds", {"builds": []}, ids=["project:42"])
    with pytest.raises(BuildFailed, match="project:42 is gone"):
        handler.is_complete(event("Create", BuildId="project:42"))


@pytest.mark.parametrize(
    ("kind", "result", "expected"),
    [
        ("model", {**MODEL_RESULT, "trigger": "0" * 64}, "kind and trigger are not those of its name"),
        ("model", {**MODEL_RESULT, "sha256": "0" * 64}, "is not models/<its sha256>/model"),
        ("model", {**MODEL_RESULT, "key": "models/latest/model.tar.gz"}, "models/latest/model.tar.gz"),
        ("image", {**IMAGE_RESULT, "uri": "registry/name:latest"}, "do not name one image by digest"),
        ("image", {**IMAGE_RESULT, "digest": "latest"}, "do not name one image by digest"),
    ],
)
def test_a_result_of_the_wrong_shape_is_refused(aws: Aws, kind: str, result: dict[str, Any], expected: str) -> None:
    aws.result(kind, result)
    with pytest.raises(ValueError, match=expected):
        handler.on_event(event("Create", kind=kind))


def test_a_refused_read_is_an_error_and_never_taken_for_a_missing_result(aws: Aws) -> None:
    place = {"Bucket": "artifacts", "Key": f"results/model-{TRIGGER}.json"}
    aws.refuse("s3", "get_object", "AccessDenied", 403, **place)
    with pytest.raises(Exception, match="AccessDenied"):
        handler.on_event(event("Create"))
