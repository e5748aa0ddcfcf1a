"""Publishing through the official client into a running S3: put if absent, verified before and after."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

import boto3
import pytest

from model_packaging.errors import PackagingError, UnavailableError
from model_packaging.publish import ArtifactBucket
from tests.packaging.conftest import Declare, run_cli

_TRIGGER = "ab" * 32


@pytest.fixture
def s3(aws: dict[str, str]) -> Any:
    client = boto3.client(
        "s3",
        endpoint_url=aws["AWS_ENDPOINT_URL"],
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        region_name="us-east-1",
    )
    yield client
    client.close()


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"artifacts-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def archive(declare: Declare, tmp_path: Path) -> Path:
    run_cli("build", declare(), "--output", tmp_path / "built").json  # noqa: B018 # asserts that it succeeded
    return tmp_path / "built" / "model.tar.gz"


def test_an_archive_is_put_once_under_its_hash_with_the_result_of_its_trigger(
    archive: Path, bucket: str, s3: Any, aws: dict[str, str]
) -> None:
    data = archive.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    key = f"models/{digest}/model.tar.gz"
    look = ("result", "--bucket", bucket, "--trigger", _TRIGGER)
    assert run_cli(*look, environment=aws).out == "absent\n"

    publish = ("publish", archive, "--bucket", bucket, "--trigger", _TRIGGER)
    first = run_cli(*publish, environment=aws).json
    assert (first["key"], first["sha256"], first["bytes"], first["uploaded"]) == (key, digest, len(data), True)
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == data
    result = json.loads(s3.get_object(Bucket=bucket, Key=f"results/model-{_TRIGGER}.json")["Body"].read())
    manifest = run_cli("verify", archive).json["manifest"]
    assert result == {
        "kind": "model",
        "trigger": _TRIGGER,
        "key": key,
        "sha256": digest,
        "bytes": len(data),
        "manifest": manifest,
        "provenance": json.loads((archive.parent / "provenance.json").read_text()),
    }
    assert run_cli(*look, environment=aws).out == "present\n"

    written = s3.head_object(Bucket=bucket, Key=key)["LastModified"]
    assert run_cli(*publish, environment=aws).json == {**first, "uploaded": False}
    assert s3.head_object(Bucket=bucket, Key=key)["LastModified"] == written


def test_without_a_trigger_no_result_is_written(archive: Path, bucket: str, s3: Any, aws: dict[str, str]) -> None:
    assert run_cli("publish", archive, "--bucket", bucket, environment=aws).status == 0
    assert {entry["Key"].split("/")[0] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]} == {"models"}


def test_the_first_result_of_a_trigger_stays(archive: Path, bucket: str, s3: Any, aws: dict[str, str]) -> None:
    s3.put_object(Bucket=bucket, Key=f"results/model-{_TRIGGER}.json", Body=b"first")
    assert run_cli("publish", archive, "--bucket", bucket, "--trigger", _TRIGGER, environment=aws).status == 0
    assert s3.get_object(Bucket=bucket, Key=f"results/model-{_TRIGGER}.json")["Body"].read() == b"first"


def test_a_large_archive_goes_up_in_parts(bucket: str, s3: Any, declare: Declare, tmp_path: Path, tiny: Path) -> None:
    padded = tmp_path / "padded.gguf"
    padded.write_bytes(tiny.read_bytes() + bytes(9 << 20))  # past the size of a part
    run_cli("build", declare(padded), "--output", tmp_path / "large").json  # noqa: B018 # asserts that it succeeded
    large = tmp_path / "large" / "model.tar.gz"
    published, _ = ArtifactBucket(bucket, client=s3, single_put_bytes=5 << 20).publish(large)
    answer = s3.get_object(Bucket=bucket, Key=published.key)
    assert answer["Body"].read() == large.read_bytes()
    assert answer["ETag"].strip('"').endswith("-2")  # as S3 marks an object of two parts


def test_a_damaged_archive_is_not_published(archive: Path, bucket: str, s3: Any, aws: dict[str, str]) -> None:
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    ran = run_cli("publish", archive, "--bucket", bucket, "--trigger", _TRIGGER, environment=aws)
    assert ran.status == 2
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


def test_another_object_under_the_key_is_an_error_and_stays(archive: Path, bucket: str, s3: Any) -> None:
    key = f"models/{hashlib.sha256(archive.read_bytes()).hexdigest()}/model.tar.gz"
    s3.put_object(Bucket=bucket, Key=key, Body=b"half")
    with pytest.raises(PackagingError, match=r"4 bytes are there; .* expected. Delete it and try again"):
        ArtifactBucket(bucket, client=s3).publish(archive)
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"half"


def test_a_folder_is_not_published(archive: Path, bucket: str, s3: Any, tmp_path: Path) -> None:
    import tarfile

    folder = tmp_path / "folder"
    folder.mkdir()
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            (folder / member.name).write_bytes(content.read())
    with pytest.raises(PackagingError, match="only an archive can be published"):
        ArtifactBucket(bucket, client=s3).publish(folder)


def test_a_longer_key_is_not_taken_for_the_one_asked_for(bucket: str, s3: Any) -> None:
    s3.put_object(Bucket=bucket, Key=f"results/model-{_TRIGGER}.json.old", Body=b"{}")
    assert not ArtifactBucket(bucket, client=s3).has_result(_TRIGGER)


def test_a_missing_bucket_is_named_and_is_not_an_absent_result(archive: Path, s3: Any, aws: dict[str, str]) -> None:
    with pytest.raises(UnavailableError, match=r"s3://no-such-bucket/results/.*NoSuchBucket"):
        ArtifactBucket("no-such-bucket", client=s3).has_result(_TRIGGER)
    ran = run_cli("publish", archive, "--bucket", "no-such-bucket", environment=aws)
    assert (ran.status, "NoSuchBucket" in ran.error) == (1, True)


def test_missing_credentials_are_one_line(archive: Path, aws: dict[str, str]) -> None:
    bare = {name: value for name, value in aws.items() if "KEY" not in name}
    nowhere = {"AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_CONFIG_FILE": "/dev/null"}
    ran = run_cli("publish", archive, "--bucket", "some-bucket", environment={**bare, **nowhere})
    assert (ran.status, "Unable to locate credentials" in ran.error) == (1, True)


@pytest.mark.parametrize("trigger", ["", "abc", "../x", "AB" * 32])
def test_a_trigger_is_64_hex_digits(archive: Path, trigger: str) -> None:
    ran = run_cli("publish", archive, "--bucket", "b", "--trigger", trigger)
    assert (ran.status, "64 lower-case hex digits expected" in ran.err) == (2, True)
