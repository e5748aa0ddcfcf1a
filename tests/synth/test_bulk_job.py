"""The Batch Transform job: what the client sends to CreateTransformJob, checked against AWS's own model of the call."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from stacks.bulk_job import bulk_job
from stacks.endpoint_objects import EndpointObjects
from stacks.instance_types import Processor
from stacks.settings import Bulk, Keys

KEY = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000"


def job(
    *,
    transforms: int = 4,
    max_body_bytes: int = 2**20,
    processor: Processor = "cpu",
    instance_type: str = "ml.c6i.8xlarge",
    keys: Keys | None = None,
) -> dict[str, Any]:
    return bulk_job(
        Bulk(instance_type=instance_type, instance_count=1, max_concurrent_transforms=transforms),
        model_name="model",
        bucket_name="bucket",
        objects=EndpointObjects(endpoint_name="decision-dev-scoring"),
        processor=processor,
        max_body_bytes=max_body_bytes,
        deadline_seconds=50,
        keys=keys or Keys(data=None, volume=None),
    )


@pytest.mark.parametrize("processor", ["cpu", "cuda"])
def test_with_its_three_names_it_is_a_whole_request(processor: Processor) -> None:
    request = job(processor=processor, keys=Keys(data=KEY, volume=KEY)) | {"TransformJobName": "monday"}
    request["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"] += "monday.jsonl"
    request["TransformOutput"]["S3OutputPath"] += "monday/"
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.operation_model("CreateTransformJob").input_shape
    assert shape is not None
    assert ParamValidator().validate(request, shape).generate_report() == ""


def test_each_line_is_a_request_and_each_answer_a_line() -> None:
    request = job()
    assert request["BatchStrategy"] == "SingleRecord"
    assert request["TransformInput"]["SplitType"] == "Line"
    assert request["TransformInput"]["ContentType"] == "application/json"
    assert request["TransformOutput"]["AssembleWith"] == "Line"


def test_input_and_output_are_below_the_endpoints_own_prefix() -> None:
    request = job()
    source = request["TransformInput"]["DataSource"]["S3DataSource"]
    assert source == {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/bulk/decision-dev-scoring/input/"}
    assert request["TransformOutput"]["S3OutputPath"] == "s3://bucket/bulk/decision-dev-scoring/output/"


def test_sagemaker_waits_longer_for_a_line_than_the_container_works_on_it() -> None:
    assert job()["ModelClientConfig"] == {"InvocationsTimeoutInSeconds": 60, "InvocationsMaxRetries": 3}


@pytest.mark.parametrize(("max_body_bytes", "megabytes"), [(1024, 1), (2**20, 1), (2**20 + 1, 2)])
def test_a_line_may_be_as_long_as_the_container_takes(max_body_bytes: int, megabytes: int) -> None:
    assert job(max_body_bytes=max_body_bytes)["MaxPayloadInMB"] == megabytes


def test_more_at_once_than_sagemaker_holds_is_refused_with_both_numbers() -> None:
    assert job(transforms=100)["MaxConcurrentTransforms"] == 100
    with pytest.raises(ValueError, match=r"max_concurrent_transforms: 101 times 1 MB .* 100 MB at most"):
        job(transforms=101)


def test_keys_are_named_where_the_job_writes() -> None:
    request = job(keys=Keys(data=KEY, volume=KEY))
    assert request["TransformOutput"]["KmsKeyId"] == KEY
    assert request["TransformResources"]["VolumeKmsKeyId"] == KEY
    assert "KmsKeyId" not in job()["TransformOutput"]
    assert "VolumeKmsKeyId" not in job()["TransformResources"]


def test_a_gpu_job_runs_on_a_host_with_the_newest_driver_that_there_is() -> None:
    assert job(processor="cuda")["TransformResources"]["TransformAmiVersion"] == "al2-ami-sagemaker-batch-gpu-535"
    assert "TransformAmiVersion" not in job()["TransformResources"]
