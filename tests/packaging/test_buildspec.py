"""The buildspec's own commands, run by a shell as CodeBuild runs them, against a running S3."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from tests.packaging.conftest import ROOT, Declare

_TRIGGER = "cd" * 32


class _Build:
    """A copy of the source with one declaration, and the environment of a build."""

    def __init__(self, source: Path, declaration: Path, aws: dict[str, str]) -> None:
        self._source = source
        shutil.copytree(
            ROOT / "model_packaging", source / "model_packaging", ignore=shutil.ignore_patterns("__pycache__")
        )
        for each in (declaration, declaration.with_name("tiny.gguf")):
            shutil.copy(each, source / "model_packaging" / "declarations")
        self._s3 = boto3.Session(
            aws_access_key_id="testing", aws_secret_access_key="testing", region_name="us-east-1"
        ).client("s3", endpoint_url=aws["AWS_ENDPOINT_URL"])
        self.bucket = f"artifacts-{uuid.uuid4().hex[:12]}"
        self._s3.create_bucket(Bucket=self.bucket)
        self._environment = {
            **os.environ,
            **aws,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ARTIFACT_BUCKET": self.bucket,
            "TRIGGER": _TRIGGER,
            "COMPRESSION": "gzip",
            "DECLARATION": "model_packaging/declarations/tiny.toml",
        }

    def run(self) -> tuple[str, str]:
        """The phase that failed, or "", and all that was said. A failed build has its post_build, as in CodeBuild."""
        spec = yaml.safe_load((ROOT / "model_packaging" / "buildspec.yml").read_text())
        failed, said = "", ""
        for phase in ("install", "pre_build", "build", "post_build"):
            if failed not in {"", "build"}:
                break
            for command in spec["phases"][phase]["commands"]:
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=self._source,
                    env={**self._environment, "CODEBUILD_BUILD_SUCCEEDING": "0" if failed else "1"},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
                said += done.stdout
                if done.returncode != 0:
                    failed = failed or phase
                    break
        return failed, said

    def objects(self) -> list[str]:
        return [entry["Key"] for entry in self._s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])]

    def result(self) -> dict[str, Any]:
        body = self._s3.get_object(Bucket=self.bucket, Key=f"results/model-{_TRIGGER}.json")["Body"].read()
        result: dict[str, Any] = json.loads(body)
        return result

    def close(self) -> None:
        self._s3.close()


@pytest.fixture
def start(tmp_path: Path, aws: dict[str, str]) -> Any:
    builds: list[_Build] = []

    def make(declaration: Path) -> _Build:
        builds.append(_Build(tmp_path / "source", declaration, aws))
        return builds[-1]

    yield make
    for build in builds:
        build.close()


def test_a_build_publishes_the_archive_and_its_result_and_a_second_one_does_nothing(
    start: Any, declare: Declare
) -> None:
    build = start(declare(quantize={"to": "Q8_0"}))
    assert build.run()[0] == ""
    result = build.result()
    provenance = f"models/{result['sha256']}/provenance.json"
    assert build.objects() == [result["key"], provenance, f"results/model-{_TRIGGER}.json"]
    assert (result["kind"], result["trigger"]) == ("model", _TRIGGER)
    assert result["manifest"]["quantization"]["to"] == "Q8_0"
    failed, said = build.run()
    assert (failed, "requantizing" in said, "uploading" in said) == ("", False, False)


def test_a_build_without_compression_publishes_the_members(start: Any, declare: Declare) -> None:
    build = start(declare())
    build._environment["COMPRESSION"] = "none"
    assert build.run()[0] == ""
    prefix = build.result()["key"]
    assert prefix.endswith("/model/")
    members = [key.removeprefix(prefix) for key in build.objects() if key.startswith(prefix)]
    assert members == ["manifest.json", "tiny.gguf"]


def test_a_build_that_fails_publishes_nothing_and_says_why(start: Any, declare: Declare) -> None:
    build = start(declare(sha256="0" * 64))
    failed, said = build.run()
    assert failed == "build"
    assert said.splitlines()[-1].endswith(f"{'0' * 64} declared")  # so nothing was tried after it
    assert build.objects() == []


def test_a_bucket_that_cannot_be_read_ends_the_build_before_its_work(start: Any, declare: Declare) -> None:
    build = start(declare())
    build._environment["ARTIFACT_BUCKET"] = "no-such-bucket"
    failed, said = build.run()
    assert (failed, "NoSuchBucket" in said) == ("pre_build", True)
