"""Reads a build's result, and makes sure that what it names is still there (docs/interfaces.md section 3)."""

from __future__ import annotations

import json
import re
from typing import Any

from botocore.exceptions import ClientError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MODEL_KEY = re.compile(r"models/([0-9a-f]{64})/model(?:\.tar\.gz|/)")


def key_of(properties: dict[str, Any]) -> str:
    return f"results/{properties['Kind']}-{properties['Trigger']}.json"


def read(s3: Any, ecr: Any, *, bucket: str, repository: str, properties: dict[str, Any]) -> dict[str, str] | None:
    """The custom resource's attributes. None where there is no result, or what it names was deleted since.

    Raises ValueError for a result that does not have the shape it must have.
    """
    key = key_of(properties)
    try:
        result = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    except s3.exceptions.NoSuchKey:
        return None
    if (result.get("kind"), result.get("trigger")) != (properties["Kind"], properties["Trigger"]):
        raise ValueError(f"s3://{bucket}/{key}: kind and trigger are not those of its name")
    if properties["Kind"] == "model":
        return _model(s3, bucket, key, result)
    return _image(ecr, repository, bucket, key, result)


def discard(s3: Any, *, bucket: str, properties: dict[str, Any]) -> None:
    s3.delete_object(Bucket=bucket, Key=key_of(properties))


def _model(s3: Any, bucket: str, key: str, result: dict[str, Any]) -> dict[str, str] | None:
    match = _MODEL_KEY.fullmatch(str(result.get("key")))
    if match is None or match[1] != result.get("sha256"):
        raise ValueError(
            f"s3://{bucket}/{key}: key {result.get('key')!r} is not models/<its sha256>/model.tar.gz or …/model/"
        )
    try:
        s3.head_object(Bucket=bucket, Key=match[0] + ("manifest.json" if match[0].endswith("/") else ""))
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        raise
    return {"Key": match[0], "Sha256": match[1]}


def _image(ecr: Any, repository: str, bucket: str, key: str, result: dict[str, Any]) -> dict[str, str] | None:
    digest, uri = str(result.get("digest")), str(result.get("uri"))
    if not _DIGEST.fullmatch(digest) or not uri.endswith(f"@{digest}"):
        raise ValueError(f"s3://{bucket}/{key}: digest {digest!r} and uri {uri!r} do not name one image by digest")
    try:
        found = ecr.describe_images(repositoryName=repository, imageIds=[{"imageDigest": digest}])["imageDetails"]
    except ecr.exceptions.ImageNotFoundException:
        return None
    return {"Digest": digest, "Uri": uri} if found else None
