"""A model published unpacked: its members under a prefix of the archive's hash, whole or not to be taken for whole."""

from __future__ import annotations

import base64
import hashlib
import json
import tarfile
import uuid
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from model_packaging.errors import PackagingError, UnavailableError
from model_packaging.publish import ArtifactBucket
from tests.fixtures.split_gguf import part_names, split_gguf
from tests.packaging.conftest import Declare, run_cli

_TRIGGER = "ef" * 32


@pytest.fixture
def s3(aws: dict[str, str]) -> Any:
    session = boto3.Session(aws_access_key_id="testing", aws_secret_access_key="testing", region_name="us-east-1")
    client = session.client("s3", endpoint_url=aws["AWS_ENDPOINT_URL"])
    yield client
    client.close()


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"artifacts-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def archive(declare: Declare, tmp_path: Path, tiny: Path) -> Path:
    """Of three parts, which are so many members."""
    first, *further = split_gguf(tiny, tmp_path, stem="tiny", count=3)
    facts = [{"bytes": p.stat().st_size, "sha256": hashlib.sha256(p.read_bytes()).hexdigest()} for p in further]
    run_cli("build", declare(first, file=first.name, parts=facts), "--output", tmp_path / "built").json  # noqa: B018
    return tmp_path / "built" / "model.tar.gz"


def _keys(s3: Any, bucket: str) -> list[str]:
    return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def _bodies(s3: Any, bucket: str, prefix: str) -> dict[str, bytes]:
    keys = [key for key in _keys(s3, bucket) if key.startswith(prefix)]
    return {key.removeprefix(prefix): s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}


def test_members_stand_under_the_archives_hash_and_make_that_archive_again(
    archive: Path, bucket: str, s3: Any, aws: dict[str, str], tmp_path: Path
) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    prefix = f"models/{digest}/model/"
    publish = ("publish", archive, "--uncompressed", "--bucket", bucket, "--trigger", _TRIGGER)
    first = run_cli(*publish, environment=aws).json
    assert (first["key"], first["sha256"], first["uploaded"]) == (prefix, digest, True)
    provenance, result = f"models/{digest}/provenance.json", f"results/model-{_TRIGGER}.json"
    names = ["manifest.json", *part_names("tiny", 3)]
    assert _keys(s3, bucket) == [*(prefix + name for name in names), provenance, result]
    told = json.loads(s3.get_object(Bucket=bucket, Key=result)["Body"].read())
    members = _bodies(s3, bucket, prefix)
    assert (told["key"], told["sha256"], told["bytes"]) == (prefix, digest, sum(map(len, members.values())))

    folder = tmp_path / "brought"
    folder.mkdir()
    for name, content in members.items():
        (folder / name).write_bytes(content)
    assert run_cli("verify", folder, "--sha256", digest).json["bytes"] == archive.stat().st_size
    assert run_cli(*publish, environment=aws).json == {**first, "uploaded": False}


class _Failing:
    """An S3 client that fails at its n-th put."""

    def __init__(self, client: Any, puts: int) -> None:
        self._client, self._left = client, puts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **arguments: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            error = {"Error": {"Code": "SlowDown", "Message": "x"}, "ResponseMetadata": {"HTTPStatusCode": 503}}
            raise ClientError(error, "PutObject")  # type: ignore[arg-type] # has what is read of it
        return self._client.put_object(**arguments)


@pytest.mark.parametrize("puts", [0, 1, 2, 3])
def test_an_upload_that_broke_off_is_no_model_and_the_next_try_completes_it(
    archive: Path, bucket: str, s3: Any, puts: int
) -> None:
    with pytest.raises(UnavailableError, match="SlowDown"):
        ArtifactBucket(bucket, client=_Failing(s3, puts)).publish_members(archive)
    assert len(_keys(s3, bucket)) == puts
    assert not any(key.endswith("manifest.json") for key in _keys(s3, bucket))
    published, _ = ArtifactBucket(bucket, client=s3).publish_members(archive)
    assert published.uploaded
    assert len(_bodies(s3, bucket, published.key)) == 4


def test_a_large_member_is_streamed_in_parts(
    bucket: str, s3: Any, declare: Declare, tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = tmp_path / "padded.gguf"
    padded.write_bytes(tiny.read_bytes() + bytes(20 << 20))
    run_cli("build", declare(padded), "--output", tmp_path / "large").json  # noqa: B018 # asserts that it succeeded
    published, _ = ArtifactBucket(bucket, client=s3).publish_members(tmp_path / "large" / "model.tar.gz")
    answer = s3.get_object(Bucket=bucket, Key=f"{published.key}tiny.gguf")
    assert answer["Body"].read() == padded.read_bytes()
    assert answer["ETag"].strip('"').endswith("-2")
    again, _ = ArtifactBucket(bucket, client=s3).publish_members(tmp_path / "large" / "model.tar.gz")
    assert not again.uploaded


def test_a_member_of_other_bytes_is_an_error_before_anything_is_put(archive: Path, bucket: str, s3: Any) -> None:
    key = f"models/{hashlib.sha256(archive.read_bytes()).hexdigest()}/model/tiny-00002-of-00003.gguf"
    with tarfile.open(archive, "r:gz") as tar:
        other = bytes(tar.getmember("tiny-00002-of-00003.gguf").size)
    checksum = base64.b64encode(hashlib.sha256(other).digest()).decode()
    for given, expected in (({"ChecksumSHA256": checksum}, "other bytes are there"), ({}, "no SHA-256 of it")):
        s3.put_object(Bucket=bucket, Key=key, Body=other, **given)
        with pytest.raises(PackagingError, match=expected):
            ArtifactBucket(bucket, client=s3).publish_members(archive)
        assert _keys(s3, bucket) == [key]


@pytest.mark.parametrize(
    ("name", "expected"), [("tiny-00001-of-00003.gguf", "are expected"), ("more", "no such member")]
)
def test_a_stranger_under_the_prefix_is_an_error_and_stays(
    archive: Path, bucket: str, s3: Any, name: str, expected: str
) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    s3.put_object(Bucket=bucket, Key=f"models/{digest}/model/{name}", Body=b"half")
    with pytest.raises(PackagingError, match=rf"4 bytes are there; .*{expected}.*Delete it and try again"):
        ArtifactBucket(bucket, client=s3).publish_members(archive)
    assert list(_bodies(s3, bucket, f"models/{digest}/model/").values()) == [b"half"]


def test_a_damaged_archive_or_a_folder_puts_nothing(archive: Path, bucket: str, s3: Any) -> None:
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    for path in (archive, archive.parent):
        with pytest.raises(PackagingError):
            ArtifactBucket(bucket, client=s3).publish_members(path)
    assert _keys(s3, bucket) == []
