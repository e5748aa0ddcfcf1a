"""As much of S3, SageMaker and CloudFormation as the client uses, in memory. A transform job does what SageMaker does
with one: each object is answered whole or not at all.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from client.aws import Clients

ENDPOINT = "decision-dev-scoring"
BUCKET = "artifacts"
DEFINITION: dict[str, Any] = {
    "ModelName": "model-1",
    "MaxConcurrentTransforms": 4,
    "MaxPayloadInMB": 1,
    "BatchStrategy": "SingleRecord",
    "TransformInput": {
        "DataSource": {
            "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/bulk/{ENDPOINT}/input/"},
        },
        "ContentType": "application/json",
        "SplitType": "Line",
    },
    "TransformOutput": {"S3OutputPath": f"s3://{BUCKET}/bulk/{ENDPOINT}/output/", "AssembleWith": "Line"},
    "TransformResources": {"InstanceType": "ml.c6i.large", "InstanceCount": 1},
}
Answer = Callable[[bytes], "bytes | None"]  # None: the server refuses it


def error(code: str, message: str = "as AWS says it") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")


def good_answer(body: bytes) -> bytes | None:
    asked = json.loads(body)["decision"]
    if asked["state"] == "refused":
        return None
    if asked["state"] == "error in place":
        return json.dumps({"error": "too long", "code": "context_overflow"}).encode()
    return json.dumps({"result": {"id": asked["id"], "option_ids": [each["id"] for each in asked["options"]]}}).encode()


class FakeS3:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, **_: Any) -> None:
        assert Bucket == BUCKET
        self.objects[Key] = Body

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.objects:
            raise error("NoSuchKey")
        return {"Body": io.BytesIO(self.objects[Key])}

    def get_paginator(self, _name: str) -> Any:
        def paginate(*, Bucket: str, Prefix: str) -> list[dict[str, Any]]:
            return [{"Contents": [{"Key": key}]} for key in sorted(self.objects) if key.startswith(Prefix)] or [{}]

        return SimpleNamespace(paginate=paginate)


class FakeSageMaker:
    """Each look at a running job lets it answer one more part. broken: no job answers anything."""

    def __init__(self, s3: FakeS3, answer: Answer = good_answer) -> None:
        self.s3, self.answer, self.broken = s3, answer, False
        self.jobs: dict[str, dict[str, Any]] = {}
        self.waiting: dict[str, list[str]] = {}
        self.created: list[dict[str, Any]] = []

    def create_transform_job(self, **request: Any) -> None:
        name = request["TransformJobName"]
        assert len(name) <= 63
        if name in self.jobs:
            raise error("ResourceInUse")
        self.created.append(request)
        prefix = request["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"].removeprefix(f"s3://{BUCKET}/")
        self.jobs[name] = {**request, "TransformJobStatus": "InProgress", "CreationTime": datetime.now(timezone.utc)}
        self.waiting[name] = sorted(key for key in self.s3.objects if key.startswith(prefix))

    def describe_transform_job(self, *, TransformJobName: str) -> dict[str, Any]:
        if TransformJobName not in self.jobs:
            raise error("ValidationException", "Could not find requested job with name")
        job = self.jobs[TransformJobName]
        told = dict(job)
        if job["TransformJobStatus"] == "InProgress":
            self._work(TransformJobName, job)
        return told

    def _work(self, name: str, job: dict[str, Any]) -> None:
        if not self.waiting[name] or self.broken:
            failed = job.get("FailureReason") or self.broken
            job["TransformJobStatus"] = "Failed" if failed else "Completed"
            return
        key = self.waiting[name].pop(0)
        answers = [self.answer(line) for line in self.s3.objects[key].splitlines()]
        if None in answers:
            job["FailureReason"] = "ClientError: See job logs for more information"
            return
        output = job["TransformOutput"]["S3OutputPath"].removeprefix(f"s3://{BUCKET}/")
        content = b"".join(answer + b"\n" for answer in answers if answer is not None)
        self.s3.objects[f"{output}{key.rsplit('/', 1)[-1]}.out"] = content

    def stop_transform_job(self, *, TransformJobName: str) -> None:
        self.jobs[TransformJobName]["TransformJobStatus"] = "Stopped"

    def list_transform_jobs(self, **asked: Any) -> dict[str, Any]:
        names = [name for name in self.jobs if asked.get("NameContains", "") in name]
        return {"TransformJobSummaries": [{**self.jobs[name], "TransformJobName": name} for name in names]}


class FakeCloudFormation:
    meta = SimpleNamespace(region_name="eu-north-1")

    def __init__(self, outputs: dict[str, str] | None = None) -> None:
        self.outputs = {"BulkJob": json.dumps(DEFINITION), "ArtifactBucketName": BUCKET} if outputs is None else outputs

    def describe_stacks(self, *, StackName: str) -> dict[str, Any]:
        if StackName != ENDPOINT:
            raise error("ValidationError")
        return {
            "Stacks": [{"Outputs": [{"OutputKey": key, "OutputValue": text} for key, text in self.outputs.items()]}]
        }


class FakeRuntime:
    """answer: what becomes of a request, or None while it waits."""

    def __init__(self, s3: FakeS3) -> None:
        self.s3 = s3
        self.asked: list[dict[str, Any]] = []
        self.output: bytes | None = None
        self.failure: bytes | None = None

    def invoke_endpoint_async(self, **request: Any) -> dict[str, str]:
        self.asked.append(request)
        if self.output is not None:
            self.s3.objects["async/out"] = self.output
        if self.failure is not None:
            self.s3.objects["async/failed"] = self.failure
        return {"OutputLocation": f"s3://{BUCKET}/async/out", "FailureLocation": f"s3://{BUCKET}/async/failed"}


def fake_clients() -> Clients:
    s3 = FakeS3()
    return Clients(cloudformation=FakeCloudFormation(), s3=s3, sagemaker=FakeSageMaker(s3), runtime=FakeRuntime(s3))
