"""Batch Transform of the emulator: what reaches the container, what is stored, and how a job fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.conftest import Hosted, eventually


class Jobs:
    def __init__(self, hosted: Hosted, name: str) -> None:
        self.hosted, self.name = hosted, name
        self.sagemaker = hosted.emulated.client("sagemaker")
        self.s3 = hosted.emulated.client("s3")

    def put(self, **objects: bytes) -> None:
        for name, content in objects.items():
            self.s3.put_object(Bucket=self.name, Key=f"in/{name}.jsonl", Body=content)

    def create(self, **changes: Any) -> None:
        request: dict[str, Any] = {
            "TransformJobName": self.name,
            "ModelName": self.name,
            "BatchStrategy": "SingleRecord",
            "MaxPayloadInMB": 1,
            "MaxConcurrentTransforms": 2,
            "ModelClientConfig": {"InvocationsTimeoutInSeconds": 30, "InvocationsMaxRetries": 0},
            "TransformInput": {
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{self.name}/in/"}},
                "ContentType": "text/plain",
                "SplitType": "Line",
            },
            "TransformOutput": {"S3OutputPath": f"s3://{self.name}/out/", "AssembleWith": "Line"},
            "TransformResources": {"InstanceType": "ml.c6i.large", "InstanceCount": 1},
        }
        self.sagemaker.create_transform_job(**{**request, **changes})

    def ended(self) -> dict[str, Any]:
        def described() -> dict[str, Any] | None:
            told: dict[str, Any] = self.sagemaker.describe_transform_job(TransformJobName=self.name)
            return None if told["TransformJobStatus"] in ("InProgress", "Stopping") else told

        found: dict[str, Any] = eventually(described)
        return found

    def stored(self) -> dict[str, bytes]:
        found = self.s3.list_objects_v2(Bucket=self.name, Prefix="out/").get("Contents", [])
        return {each["Key"]: self.s3.get_object(Bucket=self.name, Key=each["Key"])["Body"].read() for each in found}


@pytest.fixture
def jobs(hosted: Hosted, unique: str) -> Jobs:
    hosted.model(unique, environment={"FAKE_SAYS": "of the model"})
    return Jobs(hosted, unique)


def test_each_line_is_a_request_and_its_answer_a_line_in_the_same_order(jobs: Jobs) -> None:
    jobs.put(a=b"one\ntwo\nthree\n", b=b"four")
    jobs.create(Environment={"FAKE_ALSO": "of the job"})
    told = jobs.ended()
    assert (told["TransformJobStatus"], told.get("FailureReason")) == ("Completed", None)
    stored = jobs.stored()
    answers = {key: [json.loads(line) for line in content.splitlines()] for key, content in stored.items()}
    assert {key: [each["body"] for each in found] for key, found in answers.items()} == {
        "out/a.jsonl.out": ["one", "two", "three"],
        "out/b.jsonl.out": ["four"],
    }
    assert stored["out/a.jsonl.out"].endswith(b"\n")
    seen = answers["out/b.jsonl.out"][0]
    assert seen["headers"]["content-type"] == "text/plain"
    assert seen["environment"]["FAKE_SAYS"] == "of the model"
    assert seen["environment"]["FAKE_ALSO"] == "of the job"
    assert {name: value for name, value in seen["environment"].items() if name.startswith("SAGEMAKER_")} == {
        "SAGEMAKER_BATCH": "true",
        "SAGEMAKER_MAX_PAYLOAD_IN_MB": "1",
        "SAGEMAKER_BATCH_STRATEGY": "SINGLE_RECORD",
        "SAGEMAKER_MAX_CONCURRENT_TRANSFORMS": "2",
        "SAGEMAKER_BIND_TO_PORT": seen["environment"]["SAGEMAKER_BIND_TO_PORT"],
    }


def test_many_records_go_together_where_the_job_says_so(jobs: Jobs) -> None:
    jobs.put(a=b"one\ntwo\n")
    jobs.create(BatchStrategy="MultiRecord")
    assert jobs.ended()["TransformJobStatus"] == "Completed"
    assert json.loads(jobs.stored()["out/a.jsonl.out"])["body"] == "one\ntwo\n"


@pytest.mark.parametrize(("status", "blame"), [(400, "ClientError"), (503, "AlgorithmError")])
def test_one_refused_line_costs_its_object_the_answers_and_the_job_its_success_but_no_other_object(
    jobs: Jobs, status: int, blame: str
) -> None:
    jobs.put(a=f"one\nstatus {status}\nthree\n".encode(), b=b"four\n")
    jobs.create()
    told = jobs.ended()
    assert told["TransformJobStatus"] == "Failed"
    assert told["FailureReason"] == f"{blame}: See job logs for more information"
    assert set(jobs.stored()) == {"out/b.jsonl.out"}
    logs = jobs.hosted.emulated.client("logs")
    streams = logs.describe_log_streams(logGroupName="/aws/sagemaker/TransformJobs", logStreamNamePrefix=jobs.name)
    data = next(each["logStreamName"] for each in streams["logStreams"] if each["logStreamName"].endswith("/data-log"))
    events = logs.get_log_events(logGroupName="/aws/sagemaker/TransformJobs", logStreamName=data)["events"]
    lines = [event["message"] for event in events]
    assert any(f"{jobs.name}/in/a.jsonl" in line and str(status) in line for line in lines)
    assert any('{"error": "as asked"}' in line for line in lines)


def test_a_record_over_the_payload_limit_fails_its_object(jobs: Jobs) -> None:
    jobs.put(a=b"x" * (1024 * 1024 + 1) + b"\n", b=b"four\n")
    jobs.create()
    assert jobs.ended()["FailureReason"] == "ClientError: See job logs for more information"
    assert set(jobs.stored()) == {"out/b.jsonl.out"}


def test_a_container_that_does_not_start_fails_the_job(jobs: Jobs) -> None:
    jobs.put(a=b"one\n")
    jobs.create(Environment={"FAKE_START": "crash"})
    told = jobs.ended()
    assert told["TransformJobStatus"] == "Failed"
    assert "did not pass the ping health check" in told["FailureReason"]


def test_a_job_without_input_fails(jobs: Jobs) -> None:
    jobs.create()
    assert jobs.ended()["TransformJobStatus"] == "Failed"


def test_a_stopped_job_keeps_what_it_answered(jobs: Jobs) -> None:
    jobs.put(a=b"one\n", b=b"wait 1\nwait 1\nwait 1\nwait 1\nwait 1\nwait 1\nwait 1\nwait 1\n")
    jobs.create()
    eventually(jobs.stored)
    jobs.sagemaker.stop_transform_job(TransformJobName=jobs.name)
    assert jobs.ended()["TransformJobStatus"] == "Stopped"
    assert set(jobs.stored()) == {"out/a.jsonl.out"}
    with pytest.raises(ClientError, match="in status Stopped"):
        jobs.sagemaker.stop_transform_job(TransformJobName=jobs.name)


def test_a_name_is_used_once_and_jobs_are_listed(jobs: Jobs) -> None:
    jobs.put(a=b"one\n")
    jobs.create()
    with pytest.raises(ClientError, match="ResourceInUse"):
        jobs.create()
    jobs.ended()
    listed = jobs.sagemaker.list_transform_jobs(NameContains=jobs.name)["TransformJobSummaries"]
    assert [(each["TransformJobName"], each["TransformJobStatus"]) for each in listed] == [(jobs.name, "Completed")]
    assert (
        jobs.sagemaker.list_transform_jobs(NameContains=jobs.name, StatusEquals="Failed")["TransformJobSummaries"] == []
    )
    with pytest.raises(ClientError, match="Could not find requested job"):
        jobs.sagemaker.describe_transform_job(TransformJobName="another")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"MaxPayloadInMB": 60}, r"2 \* 60"),
        ({"ModelName": "none"}, "Could not find model"),
        ({"DataProcessing": {"JoinSource": "Input"}}, "DataProcessing of a transform job is not emulated"),
    ],
)
def test_a_job_that_cannot_run_is_refused(jobs: Jobs, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=message):
        jobs.create(**change)
