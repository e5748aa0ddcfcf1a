"""The Batch Transform job over an endpoint's model, as a request that lacks its names only. Pure.

docs/interfaces.md section 5 has the fields; `python -m client bulk` fills in the rest and starts it.
"""

from __future__ import annotations

from typing import Any

from stacks.endpoint_objects import EndpointObjects
from stacks.instance_types import Processor
from stacks.settings import Bulk, Keys
from stacks.settings.bulk import GRACE_SECONDS, MOST_MEGABYTES_AT_ONCE, payload_megabytes

# CreateTransformJob: 0 to 3. What is answered 503 by a full queue is asked again.
_RETRIES = 3
# The newest driver that Batch Transform has; the image brings CUDA's forward compatibility with it.
_GPU_HOST_IMAGE = "al2-ami-sagemaker-batch-gpu-535"


def bulk_job(
    bulk: Bulk,
    *,
    model_name: str,
    bucket_name: str,
    objects: EndpointObjects,
    processor: Processor,
    max_body_bytes: int,
    deadline_seconds: int,
    keys: Keys,
) -> dict[str, Any]:
    """CreateTransformJob's request but for TransformJobName, the input's file name and the output's folder.

    max_body_bytes, deadline_seconds: the engine's settings. Raises ValueError beyond CreateTransformJob's limits.
    """
    megabytes = payload_megabytes(max_body_bytes)
    if megabytes * bulk.max_concurrent_transforms > MOST_MEGABYTES_AT_ONCE:
        raise ValueError(
            f"bulk.max_concurrent_transforms: {bulk.max_concurrent_transforms} times {megabytes} MB"
            f" (engine.max_body_bytes); the product may be {MOST_MEGABYTES_AT_ONCE} MB at most."
            " Remedy: lower one of the two"
        )
    # Each line is a request of its own. One that is refused fails the job, and then there is no output of its file:
    # SageMaker keeps the order of lines, and leaves none out.
    request: dict[str, Any] = {
        "ModelName": model_name,
        "MaxConcurrentTransforms": bulk.max_concurrent_transforms,
        "MaxPayloadInMB": megabytes,
        "BatchStrategy": "SingleRecord",
        "ModelClientConfig": {
            "InvocationsTimeoutInSeconds": deadline_seconds
            + GRACE_SECONDS,  # so that the container's own error is the one reported
            "InvocationsMaxRetries": _RETRIES,
        },
        "TransformInput": {
            "DataSource": {
                "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket_name}/{objects.bulk_input}"}
            },
            "ContentType": "application/json",
            "CompressionType": "None",
            "SplitType": "Line",
        },
        "TransformOutput": {
            "S3OutputPath": f"s3://{bucket_name}/{objects.bulk_output}",
            "Accept": "application/json",
            "AssembleWith": "Line",
        },
        "TransformResources": {"InstanceType": bulk.instance_type, "InstanceCount": bulk.instance_count},
    }
    if processor == "cuda":
        request["TransformResources"]["TransformAmiVersion"] = _GPU_HOST_IMAGE
    if keys.data is not None:
        request["TransformOutput"]["KmsKeyId"] = keys.data
    if keys.volume is not None:
        request["TransformResources"]["VolumeKmsKeyId"] = keys.volume
    return request
