"""Puts a verified archive, and the result of a build, into the artifact bucket: only if absent, never over another.

Keys are those of docs/interfaces.md, sections 1 and 3. The caller needs s3:ListBucket and s3:PutObject, and for large
archives s3:AbortMultipartUpload. What is there is found by listing: HEAD calls a missing bucket a missing key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import BotoCoreError, ClientError

from .errors import PackagingError, UnavailableError
from .manifest import manifest_json
from .progress import progress, say
from .verify import Verified, verify

SINGLE_PUT_BYTES = 256 << 20  # above it parts are sent side by side, and a failed part is sent again, not the whole


@dataclass(frozen=True, kw_only=True)
class Published:
    """uploaded: False where the bucket held the archive already."""

    bucket: str
    key: str
    sha256: str
    bytes: int
    uploaded: bool


def archive_key(sha256: str) -> str:
    return f"models/{sha256}/model.tar.gz"


def result_key(trigger: str) -> str:
    return f"results/model-{trigger}.json"


class ArtifactBucket:
    """The bucket as packaging sees it. client: of boto3, for S3. Whatever it raises comes out as UnavailableError."""

    def __init__(self, bucket: str, *, client: Any = None, single_put_bytes: int = SINGLE_PUT_BYTES) -> None:
        self._bucket = bucket
        self._single_put_bytes = single_put_bytes
        with self._errors_named(""):
            self._client = boto3.Session().client("s3") if client is None else client

    def close(self) -> None:
        self._client.close()

    def has_result(self, trigger: str) -> bool:
        return self._size(result_key(trigger)) is not None

    def publish(self, path: Path) -> tuple[Published, Verified]:
        """Verifies the archive, uploads it unless its key is there, and checks what is there then."""
        archive = verify(path)
        if archive.sha256 is None:
            raise PackagingError(f"{path}: a folder; only an archive can be published")
        key = archive_key(archive.sha256)
        uploaded = self._size(key) is None
        if uploaded:
            self._upload(path, key, archive.sha256, archive.bytes)
        size = self._size(key)
        if size != archive.bytes:
            raise PackagingError(
                f"s3://{self._bucket}/{key}: {size} bytes are there; {archive.bytes} expected. Delete it and try again"
            )
        say(f"archive: s3://{self._bucket}/{key}{'' if uploaded else ' (was there already)'}")
        published = Published(
            bucket=self._bucket, key=key, sha256=archive.sha256, bytes=archive.bytes, uploaded=uploaded
        )
        return published, archive

    def write_result(self, trigger: str, published: Published, archive: Verified) -> None:
        """The first result of a trigger stays: another build of the same inputs changes nothing."""
        result = {
            "kind": "model",
            "trigger": trigger,
            "key": published.key,
            "sha256": published.sha256,
            "bytes": published.bytes,
            "manifest": manifest_json(archive.manifest),
        }
        body = (json.dumps(result, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
        key = result_key(trigger)
        self._put_if_absent(key, Body=body, ContentType="application/json")
        say(f"result: s3://{self._bucket}/{key}")

    def _upload(self, path: Path, key: str, sha256: str, size: int) -> None:
        if size <= self._single_put_bytes:
            say(f"uploading {size} bytes to s3://{self._bucket}/{key}")
            with path.open("rb") as body:
                checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
                self._put_if_absent(key, Body=body, ContentType="application/gzip", ChecksumSHA256=checksum)
            return
        # The transfer manager has no put-if-absent. Two uploads of one key carry the same bytes: the key is their hash.
        parts = TransferConfig(multipart_threshold=self._single_put_bytes)
        extra = {"ContentType": "application/gzip", "ChecksumAlgorithm": "SHA256"}
        with self._errors_named(key), progress("uploading", size) as advance:
            self._client.upload_file(str(path), self._bucket, key, ExtraArgs=extra, Callback=advance, Config=parts)

    def _put_if_absent(self, key: str, **arguments: Any) -> None:
        with self._errors_named(key):
            try:
                self._client.put_object(Bucket=self._bucket, Key=key, IfNoneMatch="*", **arguments)
            except ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
                    raise

    def _size(self, key: str) -> int | None:
        """Bytes of the object; None where there is none."""
        with self._errors_named(key):
            found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=key, MaxKeys=1).get("Contents", [])
        return next((int(entry["Size"]) for entry in found if entry["Key"] == key), None)

    @contextmanager
    def _errors_named(self, key: str) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError, Boto3Error) as error:
            raise UnavailableError(f"s3://{self._bucket}/{key}: {' '.join(str(error).split())}") from error
