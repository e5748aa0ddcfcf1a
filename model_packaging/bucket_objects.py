"""The objects of one S3 bucket: which there are, put if absent, and whether one holds the bytes that it should.

Whatever the client raises comes out as UnavailableError. What is there is found by listing, for HEAD calls a missing
bucket a missing key; what it holds, by the SHA-256 that S3 stores with it, for name and size are anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import BotoCoreError, ClientError

from .errors import PackagingError, UnavailableError
from .gguf_stream import Readable
from .progress import progress
from .stored_checksum import parts_checksum, parts_of, whole_checksum

_LEAST_PART_BYTES = 16 << 20
_MOST_PARTS = 9_000  # S3 takes 10,000
_PART_BYTES_OF_OTHERS = 8 << 20  # what boto3 and the AWS CLI choose by themselves


class BucketObjects:
    """client: of boto3, for S3."""

    def __init__(self, bucket: str, client: Any = None) -> None:
        self._bucket = bucket
        with self._errors_named(""):
            self._client = boto3.Session().client("s3") if client is None else client

    def close(self) -> None:
        self._client.close()

    def url(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    def sizes(self, prefix: str) -> dict[str, int]:
        """Bytes of each object under the prefix."""
        with self._errors_named(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            return {each["Key"]: int(each["Size"]) for page in pages for each in page.get("Contents", [])}

    def size(self, key: str) -> int | None:
        """Bytes of the object; None where there is none."""
        with self._errors_named(key):
            found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=key, MaxKeys=1).get("Contents", [])
        return next((int(entry["Size"]) for entry in found if entry["Key"] == key), None)

    def put_if_absent(self, key: str, body: Any, *, content_type: str, sha256: str | None = None) -> None:
        """sha256: S3 refuses other bytes and stores it."""
        checksum = {} if sha256 is None else {"ChecksumSHA256": whole_checksum(sha256)}
        with self._errors_named(key):
            try:
                self._client.put_object(
                    Bucket=self._bucket, Key=key, Body=body, ContentType=content_type, IfNoneMatch="*", **checksum
                )
            except ClientError as error:
                if _status(error) != 412:
                    raise

    def put_in_parts(self, key: str, body: Any, size: int, *, content_type: str, label: str) -> None:
        """Side by side; a failed part is sent again, not the whole. There is no put-if-absent of this kind: whether the
        bytes are the right ones in the end says `require_same`.
        """
        parts = TransferConfig(multipart_threshold=1, multipart_chunksize=_part_bytes(size))
        extra = {"ContentType": content_type, "ChecksumAlgorithm": "SHA256"}
        with self._errors_named(key), progress(label, size) as advance:
            self._client.upload_fileobj(body, self._bucket, key, ExtraArgs=extra, Callback=advance, Config=parts)

    def require_same(
        self, key: str, sha256: str, size: int, content: Callable[[], AbstractContextManager[Readable]]
    ) -> None:
        """content: opens the bytes that are expected there; they are read only where the object came in parts."""
        stored = self._head(key, ChecksumMode="ENABLED").get("ChecksumSHA256")
        if stored is None:
            raise PackagingError(
                f"{self.url(key)}: S3 has no SHA-256 of it, so that nobody can tell what it is. Delete it and try again"
            )
        expected = whole_checksum(sha256)
        if (count := parts_of(stored)) is not None:
            part_bytes = _part_bytes_of(size, count)
            if part_bytes is None:
                raise PackagingError(
                    f"{self.url(key)}: S3 has a SHA-256 of {count} parts of a size that is not known here, so that"
                    " nobody can tell what it is. Delete it and try again"
                )
            with content() as stream:
                expected = parts_checksum(stream, part_bytes=part_bytes)
        if stored != expected:
            raise PackagingError(
                f"{self.url(key)}: sha256: other bytes are there: S3 has {stored} of them; {expected} expected. Find"
                " out who put them, delete the object and try again"
            )

    def _head(self, key: str, **arguments: Any) -> Mapping[str, Any]:
        with self._errors_named(key):
            try:
                found: Mapping[str, Any] = self._client.head_object(Bucket=self._bucket, Key=key, **arguments)
            except ClientError as error:
                if _status(error) != 403:
                    raise
                raise UnavailableError(
                    f"{self.url(key)}: {error}: s3:GetObject on it is needed, and kms:Decrypt where the bucket has"
                    " a key"
                ) from error
        return found

    @contextmanager
    def _errors_named(self, key: str) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError, Boto3Error) as error:
            raise UnavailableError(f"{self.url(key)}: {' '.join(str(error).split())}") from error


def _part_bytes(size: int) -> int:
    return max(_LEAST_PART_BYTES, -(-size // _MOST_PARTS))


def _part_bytes_of(size: int, count: int) -> int | None:
    """Of an object that came in `count` parts; None where it was sent in a way that is not ours or the usual one."""
    known = (_part_bytes(size), _PART_BYTES_OF_OTHERS)
    return next((each for each in known if -(-size // each) == count), None)


def _status(error: ClientError) -> int:
    return error.response["ResponseMetadata"]["HTTPStatusCode"]
