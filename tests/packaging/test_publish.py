"""Publishing through the official client into a running S3: put if absent, verified before and after."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import uuid
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

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


@pytest.fixture
def large(declare: Declare, tmp_path: Path, tiny: Path) -> Path:
    padded = tmp_path / "padded.gguf"
    padded.write_bytes(tiny.read_bytes() + bytes(20 << 20))  # past the size of a part
    run_cli("build", declare(padded), "--output", tmp_path / "large").json  # noqa: B018 # asserts that it succeeded
    return tmp_path / "large" / "model.tar.gz"


def test_a_large_archive_goes_up_in_parts(bucket: str, s3: Any, large: Path) -> None:
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


def _other_bytes(archive: Path) -> bytes:
    data = bytearray(archive.read_bytes())
    data[-1] ^= 1
    return bytes(data)


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def test_other_bytes_of_the_same_name_and_size_are_an_error_and_stay(archive: Path, bucket: str, s3: Any) -> None:
    """By name and size alone anybody who may put an object could put another model in place of this one."""
    key, other = f"models/{hashlib.sha256(archive.read_bytes()).hexdigest()}/model.tar.gz", _other_bytes(archive)
    s3.put_object(Bucket=bucket, Key=key, Body=other, ChecksumSHA256=_base64(hashlib.sha256(other).digest()))
    with pytest.raises(PackagingError, match="other bytes are there: S3 has"):
        ArtifactBucket(bucket, client=s3).publish(archive)
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == other
    assert len(s3.list_objects_v2(Bucket=bucket)["Contents"]) == 1


def test_an_object_of_which_nobody_knows_the_hash_is_an_error_even_if_it_is_the_right_one(
    archive: Path, bucket: str, s3: Any
) -> None:
    key = f"models/{hashlib.sha256(archive.read_bytes()).hexdigest()}/model.tar.gz"
    metadata = {"sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}  # anybody's claim
    s3.put_object(Bucket=bucket, Key=key, Body=archive.read_bytes(), Metadata=metadata)
    with pytest.raises(PackagingError, match=r"S3 has no SHA-256 of it.*Delete it and try again"):
        ArtifactBucket(bucket, client=s3).publish(archive)


@pytest.mark.parametrize(
    ("part_bytes", "refusal"),
    [
        (16 << 20, None),
        (8 << 20, None),
        (5 << 20, "SHA-256 of 5 parts of a size that is not known here"),
    ],
)
def test_an_object_that_came_in_parts_is_known_by_the_hash_of_its_parts(
    bucket: str, s3: Any, large: Path, part_bytes: int, refusal: str | None
) -> None:
    key = f"models/{hashlib.sha256(large.read_bytes()).hexdigest()}/model.tar.gz"
    parts = TransferConfig(multipart_threshold=part_bytes, multipart_chunksize=part_bytes)
    for body in (large.read_bytes(), _other_bytes(large)):
        extra = {"ChecksumAlgorithm": "SHA256"}
        s3.upload_fileobj(io.BytesIO(body), bucket, key, ExtraArgs=extra, Config=parts)
        expected = refusal or (None if body == large.read_bytes() else "other bytes are there")
        if expected is None:
            assert not ArtifactBucket(bucket, client=s3).publish(large)[0].uploaded
            continue
        with pytest.raises(PackagingError, match=expected):
            ArtifactBucket(bucket, client=s3).publish(large)


class _Racing:
    """An S3 client at whose put somebody else was faster."""

    def __init__(self, client: Any, other: bytes) -> None:
        self._client, self._other = client, other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **arguments: Any) -> Any:
        checksum = _base64(hashlib.sha256(self._other).digest())
        self._client.put_object(
            Bucket=arguments["Bucket"], Key=arguments["Key"], Body=self._other, ChecksumSHA256=checksum
        )
        return self._client.put_object(**arguments)


def test_what_somebody_else_puts_meanwhile_is_looked_at_too(archive: Path, bucket: str, s3: Any) -> None:
    with pytest.raises(PackagingError, match="other bytes are there"):
        ArtifactBucket(bucket, client=_Racing(s3, _other_bytes(archive))).publish(archive)


class _Forbidden:
    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def head_object(self, **_: Any) -> Any:
        error = {"Error": {"Code": "403", "Message": "Forbidden"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
        raise ClientError(error, "HeadObject")  # type: ignore[arg-type] # has what is read of it


def test_a_right_that_is_missing_is_named(archive: Path, bucket: str, s3: Any) -> None:
    with pytest.raises(UnavailableError, match=r"403.*s3:GetObject on it is needed"):
        ArtifactBucket(bucket, client=_Forbidden(s3)).publish(archive)


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
