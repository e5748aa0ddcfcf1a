"""What an endpoint's stack says about itself (interfaces.md, section 5). An endpoint and its stack have one name."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import ClientError

from client.aws import ABSENT, code_of
from client.errors import Refused

_NEEDED = ("ModelName", "MaxPayloadInMB", "TransformInput", "TransformOutput", "TransformResources")


def bulk_job(cloudformation: Any, endpoint: str) -> dict[str, Any]:
    """The request of CreateTransformJob without the three values of a single job. Raises Refused."""
    text = _outputs(cloudformation, endpoint).get("BulkJob")
    if text is None:
        raise Refused(
            f"stack {endpoint}: no output BulkJob. Remedy: give the endpoint the setting `bulk` in cdk.json and deploy"
        )
    definition: dict[str, Any] = json.loads(text)
    missing = [name for name in _NEEDED if name not in definition]
    if missing:
        raise Refused(f"stack {endpoint}: its output BulkJob has no {', '.join(missing)}. Remedy: deploy it again")
    return definition


def artifact_bucket(cloudformation: Any, endpoint: str) -> str:
    """Raises Refused."""
    bucket = _outputs(cloudformation, endpoint).get("ArtifactBucketName")
    if bucket is None:
        raise Refused(
            f"stack {endpoint}: no output ArtifactBucketName. Remedy: give the endpoint the setting "
            "`hosting.asynchronous` in cdk.json and deploy"
        )
    return bucket


def _outputs(cloudformation: Any, endpoint: str) -> dict[str, str]:
    try:
        stacks = cloudformation.describe_stacks(StackName=endpoint)["Stacks"]
    except ClientError as error:
        if code_of(error) not in ABSENT:
            raise
        raise Refused(
            f"--endpoint-name {endpoint}: no stack of this name in {cloudformation.meta.region_name}. Remedy: look it "
            "up with `aws cloudformation list-stacks`, or give another --region"
        ) from error
    return {each["OutputKey"]: each["OutputValue"] for each in stacks[0].get("Outputs", [])}
