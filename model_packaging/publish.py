"""Puts a verified archive, and the result of a build, into the artifact bucket: only if absent, never over another.

Keys are those of docs/interfaces.md, sections 1 and 3. The caller needs s3:ListBucket, s3:PutObject and s3:GetObject,
and for large archives s3:AbortMultipartUpload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .bucket_objects import BucketObjects
from .errors import PackagingError, UnavailableError
from .manifest import MANIFEST_NAME, FileFacts, Manifest, listed_files, manifest_bytes, manifest_json
from .members import Member, each_member, member_content
from .progress import say
from .provenance import PROVENANCE_NAME, read_provenance
from .verify import Verified, verify

_SMALL_BYTES = 16 << 20  # of a member: up to it, held in memory and put in one call
SINGLE_PUT_BYTES = 256 << 20  # above it parts are sent side by side, and a failed part is sent again, not the whole
_JSON = "application/json"


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
        self._objects = BucketObjects(bucket, client)

    def close(self) -> None:
        self._objects.close()

    def has_result(self, trigger: str) -> bool:
        return self._objects.size(result_key(trigger)) is not None

    def publish(self, path: Path) -> tuple[Published, Verified]:
        """Verifies the archive, uploads it unless its key is there, and checks what is there then."""
        archive = _verified(path)
        provenance = read_provenance(path.parent, archive.sha256)
        key = archive_key(archive.sha256)
        uploaded = self._objects.size(key) is None
        if uploaded:
            self._upload(path, key, archive.sha256, archive.bytes)
        size = self._objects.size(key)
        if size != archive.bytes:
            raise PackagingError(
                f"{self._objects.url(key)}: {size} bytes are there; {archive.bytes} expected. Delete it and try again"
            )
        self._objects.require_same(key, archive.sha256, archive.bytes, lambda: path.open("rb"))
        return self._done(key, archive, archive.bytes, uploaded, provenance), archive

    def publish_members(self, path: Path) -> tuple[Published, Verified]:
        """Verifies the archive and puts its members under a prefix of its hash, each unless it is there.

        The manifest goes last, and a prefix without one is no model: what an interrupted upload left cannot be taken
        for a whole one, and the next try completes it.
        """
        archive = _verified(path)
        provenance = read_provenance(path.parent, archive.sha256)
        prefix, files = members_prefix(archive.sha256), member_files(archive.manifest)
        there = self._objects.sizes(prefix)
        self._require_ours(prefix, files, there)
        missing = {name for name in files if prefix + name not in there}
        self._require_same(path, prefix, (files[name] for name in files if name not in missing))
        for member in each_member(path, missing - {MANIFEST_NAME}):
            self._upload_member(member, prefix + member.name, files[member.name])
        if MANIFEST_NAME in missing:
            facts, sha256 = manifest_bytes(archive.manifest), files[MANIFEST_NAME].sha256
            self._objects.put_if_absent(prefix + MANIFEST_NAME, facts, content_type=_JSON, sha256=sha256)
        there = self._objects.sizes(prefix)
        self._require_ours(prefix, files, there)
        if len(there) != len(files):
            raise UnavailableError(
                f"{self._objects.url(prefix)}: {len(there)} objects are there; {len(files)} expected"
            )
        self._require_same(path, prefix, (files[name] for name in files if name in missing))
        total = sum(each.bytes for each in files.values())
        return self._done(prefix, archive, total, bool(missing), provenance), archive

    def _require_ours(self, prefix: str, files: Mapping[str, FileFacts], there: Mapping[str, int]) -> None:
        """SageMaker brings whatever stands under the prefix, so nothing else may."""
        for key, size in there.items():
            facts = files.get(key.removeprefix(prefix))
            if facts is None or facts.bytes != size:
                expected = "no such member is" if facts is None else f"{facts.bytes} are"
                raise PackagingError(
                    f"{self._objects.url(key)}: {size} bytes are there; {expected} expected. Delete it and try again"
                )

    def _require_same(self, path: Path, prefix: str, files: Iterable[FileFacts]) -> None:
        for each in files:
            content = partial(member_content, path, each.file)
            self._objects.require_same(prefix + each.file, each.sha256, each.bytes, content)

    def _done(
        self, key: str, archive: Verified, size: int, uploaded: bool, provenance: dict[str, Any] | None
    ) -> Published:
        if provenance is not None:  # the first build's stays: it is the one whose bytes these are
            self._objects.put_if_absent(
                f"models/{archive.sha256}/{PROVENANCE_NAME}", _json(provenance), content_type=_JSON
            )
        say(f"model: {self._objects.url(key)}{'' if uploaded else ' (was there already)'}")
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
        self._objects.put_if_absent(key, _json(result), content_type=_JSON)
        say(f"result: {self._objects.url(key)}")

    def _upload(self, path: Path, key: str, sha256: str, size: int) -> None:
        with path.open("rb") as body:
            if size <= self._single_put_bytes:
                say(f"uploading {size} bytes to {self._objects.url(key)}")
                self._objects.put_if_absent(key, body, content_type="application/gzip", sha256=sha256)
            else:
                self._objects.put_in_parts(key, body, size, content_type="application/gzip", label="uploading")

    def _upload_member(self, member: Member, key: str, facts: FileFacts) -> None:
        """As it is read: nothing is unpacked onto the disk."""
        kind = "application/octet-stream"
        if facts.bytes <= _SMALL_BYTES:
            self._objects.put_if_absent(key, member.stream.read(facts.bytes), content_type=kind, sha256=facts.sha256)
            return
        label = f"uploading {member.name}"
        self._objects.put_in_parts(key, member.stream, facts.bytes, content_type=kind, label=label)
        if member.stream.sha256 != facts.sha256:
            raise PackagingError(
                f"{member.name}: changed while it was uploaded. Delete {self._objects.url(key)} and try again"
            )


def member_files(manifest: Manifest) -> dict[str, FileFacts]:
    """All members of the archive by name, the manifest's own facts among them."""
    facts = manifest_bytes(manifest)
    own = FileFacts(file=MANIFEST_NAME, bytes=len(facts), sha256=hashlib.sha256(facts).hexdigest())
    return {each.file: each for each in (*listed_files(manifest), own)}


def _verified(path: Path) -> Verified:
    if path.is_dir():
        raise PackagingError(f"{path}: a folder; only an archive can be published")
    return verify(path)


def _json(table: Mapping[str, Any]) -> bytes:
    return (json.dumps(table, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
