"""Puts a verified archive, and the result of a build, into the artifact bucket: only if absent, never over another.

Keys are those of docs/interfaces.md, sections 1 and 3. The caller needs s3:ListBucket and s3:PutObject, and for large
archives s3:AbortMultipartUpload. What is there is found by listing: HEAD calls a missing bucket a missing key.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import BotoCoreError, ClientError

from .errors import PackagingError, UnavailableError
from .manifest import MANIFEST_NAME, FileFacts, Manifest, listed_files, manifest_bytes, manifest_json
from .members import Member, each_member
from .progress import progress, say
from .provenance import PROVENANCE_NAME, read_provenance
from .verify import Verified, verify

_SMALL_BYTES = 16 << 20  # of a member: up to it, held in memory and put in one call
SINGLE_PUT_BYTES = 256 << 20  # above it parts are sent side by side, and a failed part is sent again, not the whole


@dataclass(frozen=True, kw_only=True)
class Published:
    """key: of the archive; of its members, what their keys begin with, ending in "/". sha256: of the archive either
    way. uploaded: False where the bucket held all of it already. provenance: None where nobody knows it.
    """

    bucket: str
    key: str
    sha256: str
    bytes: int
    uploaded: bool
    provenance: dict[str, Any] | None


def archive_key(sha256: str) -> str:
    return f"models/{sha256}/model.tar.gz"


def members_prefix(sha256: str) -> str:
    return f"models/{sha256}/model/"


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
        if path.is_dir():
            raise PackagingError(f"{path}: a folder; only an archive can be published")
        archive = verify(path)
        provenance = read_provenance(path.parent, archive.sha256)
        key = archive_key(archive.sha256)
        uploaded = self._size(key) is None
        if uploaded:
            self._upload(path, key, archive.sha256, archive.bytes)
        size = self._size(key)
        if size != archive.bytes:
            raise PackagingError(
                f"s3://{self._bucket}/{key}: {size} bytes are there; {archive.bytes} expected. Delete it and try again"
            )
        return self._done(key, archive, archive.bytes, uploaded, provenance), archive

    def publish_members(self, path: Path) -> tuple[Published, Verified]:
        """Verifies the archive and puts its members under a prefix of its hash, each unless it is there.

        The manifest goes last, and a prefix without one is no model: what an interrupted upload left cannot be taken
        for a whole one, and the next try completes it.
        """
        if path.is_dir():
            raise PackagingError(f"{path}: a folder; only an archive can be published")
        archive = verify(path)
        provenance = read_provenance(path.parent, archive.sha256)
        prefix, files = members_prefix(archive.sha256), member_files(archive.manifest)
        there = self._sizes(prefix)
        self._require_ours(prefix, files, there)
        missing = {name for name in files if prefix + name not in there}
        for member in each_member(path, missing - {MANIFEST_NAME}):
            self._upload_member(member, prefix + member.name, files[member.name])
        if MANIFEST_NAME in missing:
            facts = manifest_bytes(archive.manifest)
            self._put_if_absent(prefix + MANIFEST_NAME, Body=facts, ContentType="application/json")
        there = self._sizes(prefix)
        self._require_ours(prefix, files, there)
        if len(there) != len(files):
            raise UnavailableError(
                f"s3://{self._bucket}/{prefix}: {len(there)} objects are there; {len(files)} expected"
            )
        total = sum(each.bytes for each in files.values())
        return self._done(prefix, archive, total, bool(missing), provenance), archive

    def _require_ours(self, prefix: str, files: Mapping[str, FileFacts], there: Mapping[str, int]) -> None:
        """SageMaker brings whatever stands under the prefix, so nothing else may."""
        for key, size in there.items():
            facts = files.get(key.removeprefix(prefix))
            if facts is None or facts.bytes != size:
                expected = "no such member is" if facts is None else f"{facts.bytes} are"
                raise PackagingError(
                    f"s3://{self._bucket}/{key}: {size} bytes are there; {expected} expected. Delete it and try again"
                )

    def _done(
        self, key: str, archive: Verified, size: int, uploaded: bool, provenance: dict[str, Any] | None
    ) -> Published:
        if provenance is not None:  # the first build's stays: it is the one whose bytes these are
            self._put_if_absent(
                f"models/{archive.sha256}/{PROVENANCE_NAME}", Body=_json(provenance), ContentType="application/json"
            )
        say(f"model: s3://{self._bucket}/{key}{'' if uploaded else ' (was there already)'}")
        return Published(
            bucket=self._bucket,
            key=key,
            sha256=archive.sha256,
            bytes=size,
            uploaded=uploaded,
            provenance=provenance,
        )

    def write_result(self, trigger: str, published: Published, archive: Verified) -> None:
        """The first result of a trigger stays: another build of the same inputs changes nothing."""
        result = {
            "kind": "model",
            "trigger": trigger,
            "key": published.key,
            "sha256": published.sha256,
            "bytes": published.bytes,
            "manifest": manifest_json(archive.manifest),
            "provenance": published.provenance,
        }
        key = result_key(trigger)
        self._put_if_absent(key, Body=_json(result), ContentType="application/json")
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

    def _upload_member(self, member: Member, key: str, facts: FileFacts) -> None:
        """As it is read: nothing is unpacked onto the disk."""
        if facts.bytes <= _SMALL_BYTES:
            data = member.stream.read(facts.bytes)
            checksum = base64.b64encode(bytes.fromhex(facts.sha256)).decode()  # S3 refuses what does not have it
            self._put_if_absent(key, Body=data, ContentType="application/octet-stream", ChecksumSHA256=checksum)
            return
        extra = {"ContentType": "application/octet-stream", "ChecksumAlgorithm": "SHA256"}
        parts = TransferConfig(multipart_threshold=_SMALL_BYTES, multipart_chunksize=_part_bytes(facts.bytes))
        with self._errors_named(key), progress(f"uploading {member.name}", facts.bytes) as advance:
            self._client.upload_fileobj(
                member.stream, self._bucket, key, ExtraArgs=extra, Callback=advance, Config=parts
            )
        if member.stream.sha256 != facts.sha256:
            raise PackagingError(
                f"{member.name}: changed while it was uploaded. Delete s3://{self._bucket}/{key} and try again"
            )

    def _put_if_absent(self, key: str, **arguments: Any) -> None:
        with self._errors_named(key):
            try:
                self._client.put_object(Bucket=self._bucket, Key=key, IfNoneMatch="*", **arguments)
            except ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
                    raise

    def _sizes(self, prefix: str) -> dict[str, int]:
        """Bytes of each object under the prefix."""
        with self._errors_named(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
            return {each["Key"]: int(each["Size"]) for page in pages for each in page.get("Contents", [])}

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


def member_files(manifest: Manifest) -> dict[str, FileFacts]:
    """All members of the archive by name, the manifest's own facts among them."""
    facts = manifest_bytes(manifest)
    own = FileFacts(file=MANIFEST_NAME, bytes=len(facts), sha256=hashlib.sha256(facts).hexdigest())
    return {each.file: each for each in (*listed_files(manifest), own)}


def _part_bytes(size: int) -> int:
    """S3 takes 10,000 parts at most."""
    return max(16 << 20, -(-size // 9_000))


def _json(table: Mapping[str, Any]) -> bytes:
    return (json.dumps(table, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
