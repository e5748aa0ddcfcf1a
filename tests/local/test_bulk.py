"""Bulk runs and asynchronous requests of the client, on the emulator, with the deployed app's model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import aws
from local.workspace import CHECKOUT
from tests.local.conftest import Emulated, eventually
from tests.local.deployed_app import ENDPOINT, App

pytestmark = [pytest.mark.deploys, pytest.mark.timeout(600)]
OPTIONS = [
    {"id": "access", "description": "Account access and passwords."},
    {"id": "billing", "description": "Billing and payment."},
]
TOO_LONG = "word " * 6000  # of tokens, for a context of 4096; only the server can know


def decision(number: int, state: str | None = None) -> dict[str, Any]:
    evidence = state or f"Customer {number} says that the reset email never arrived."
    return {"id": f"d{number}", "state": evidence, "question": "Which queue?", "options": OPTIONS}


class Client:
    """`python -m client`, as a person runs it after `make up`."""

    def __init__(self, emulated: Emulated, folder: Path) -> None:
        self.emulated, self.folder = emulated, folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.environment = {**kept, **aws.exports(emulated.url)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "client", *arguments]
        return subprocess.run(
            command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )

    def write(self, name: str, *lines: object) -> str:
        path = self.folder / name
        path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
        return str(path)

    def answers(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture
def client(emulated: Emulated, tmp_path: Path) -> Client:
    return Client(emulated, tmp_path)


def bulk_objects(emulated: Emulated) -> list[str]:
    s3 = emulated.client("s3")
    return [
        each["Key"]
        for bucket in s3.list_buckets()["Buckets"]
        for each in s3.list_objects_v2(Bucket=bucket["Name"], Prefix="bulk/").get("Contents", [])
    ]


def test_a_file_is_answered_line_by_line_and_bad_lines_have_an_error_in_their_place(
    created: App, client: Client
) -> None:
    bad = (5, 17)
    lines = [decision(number, TOO_LONG if number in bad else None) for number in range(24)]
    path, out = client.write("in.jsonl", *lines, "{"), str(client.folder / "out.jsonl")
    arguments = ("bulk", "--endpoint-name", ENDPOINT, "--input", path)

    refused = client.run(*arguments, "--output", out)
    assert refused.returncode == 2
    assert "line 25: not JSON" in refused.stderr
    assert bulk_objects(client.emulated) == []

    started = client.run(*arguments, "--skip-invalid", "--no-wait")
    assert started.returncode == 0, started.stderr
    name = started.stdout.strip()
    done = client.run("bulk", "--resume", name, "--output", out)
    assert done.returncode == 1, done.stderr
    assert "22 lines answered, 2 refused by the server, 1 left out" in done.stderr
    answers = client.answers("out.jsonl")
    told = [each["result"]["id"] if "result" in each else "error" for each in answers]
    assert told == ["error" if number in (*bad, 24) else f"d{number}" for number in range(25)]
    assert all(answers[number]["code"] in ("not_answered", "context_overflow") for number in bad)
    assert (answers[24]["code"], answers[24]["line"]) == ("left_out", 25)
    assert name in client.run("bulk", "list", "--endpoint-name", ENDPOINT).stdout
    # The endpoint, asked the same, says the same to the bit.
    for number in (0, 9, 23):
        alone = created.invoke("scoring", {"decision": lines[number]})["result"]
        assert alone["probabilities"] == answers[number]["result"]["probabilities"]


@pytest.fixture
def queued(created: App, emulated: Emulated, unique: str) -> Iterator[str]:
    """An asynchronous endpoint on the deployed model, and a stack of its name that names the bucket."""
    sagemaker, cloudformation = emulated.client("sagemaker"), emulated.client("cloudformation")
    outputs = cloudformation.describe_stacks(StackName=ENDPOINT)["Stacks"][0]["Outputs"]
    found = {each["OutputKey"]: each["OutputValue"] for each in outputs}
    bucket, model = found["ArtifactBucketName"], json.loads(found["BulkJob"])["ModelName"]
    sagemaker.create_endpoint_config(
        EndpointConfigName=unique,
        ProductionVariants=[
            {"VariantName": "AllTraffic", "ModelName": model, "InitialInstanceCount": 1, "InstanceType": "ml.c6i.large"}
        ],
        AsyncInferenceConfig={
            "OutputConfig": {
                "S3OutputPath": f"s3://{bucket}/async/{unique}/output/",
                "S3FailurePath": f"s3://{bucket}/async/{unique}/failures/",
            }
        },
    )
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"ArtifactBucketName": {"Value": bucket}},
    }
    cloudformation.create_stack(StackName=unique, TemplateBody=json.dumps(template))
    eventually(lambda: sagemaker.describe_endpoint(EndpointName=unique)["EndpointStatus"] == "InService", seconds=60)
    yield unique
    sagemaker.delete_endpoint(EndpointName=unique)
    sagemaker.delete_endpoint_config(EndpointConfigName=unique)
    cloudformation.delete_stack(StackName=unique)


def test_an_asynchronous_endpoint_answers_and_fails_through_s3(queued: str, client: Client) -> None:
    answered = client.run("invoke-async", "--endpoint-name", queued, "--input", client.write("one.json", decision(1)))
    assert answered.returncode == 0, answered.stderr
    assert "Which queue?" in answered.stdout
    assert "▶ access" in answered.stdout
    failed = client.run(
        "invoke-async", "--endpoint-name", queued, "--input", client.write("long.json", decision(2, TOO_LONG))
    )
    assert failed.returncode == 1
    assert "context_overflow" in failed.stderr
