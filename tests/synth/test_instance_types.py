"""The families of instances are such that SageMaker has."""

from __future__ import annotations

import botocore.session

from stacks.instance_types import (
    BULK_FAMILIES,
    CPU_FAMILIES,
    GPU_FAMILIES,
    LOCAL_NVME_FAMILIES,
    family_of,
    processor_of,
)


def families(shape: str) -> set[str | None]:
    """Of an enumeration in AWS's own description of the API."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    return {family_of(each) for each in model.shape_for(shape).enum}  # type: ignore[attr-defined]


def test_sagemaker_hosts_on_every_family_that_the_settings_allow() -> None:
    assert families("ProductionVariantInstanceType") >= CPU_FAMILIES | GPU_FAMILIES


def test_a_bulk_job_is_allowed_exactly_where_batch_transform_has_such_instances() -> None:
    assert families("TransformInstanceType") & (CPU_FAMILIES | GPU_FAMILIES) == BULK_FAMILIES


def test_no_family_is_for_both_targets_and_each_nvme_family_is_for_one() -> None:
    assert not CPU_FAMILIES & GPU_FAMILIES
    assert LOCAL_NVME_FAMILIES <= CPU_FAMILIES | GPU_FAMILIES
    assert {each for each in CPU_FAMILIES if each.endswith("d")} <= LOCAL_NVME_FAMILIES


def test_every_type_that_sagemaker_hosts_on_is_read_as_one() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    types = model.shape_for("ProductionVariantInstanceType").enum  # type: ignore[attr-defined]
    assert [each for each in types if family_of(each) is None] == []


def test_a_type_is_a_family_and_a_size() -> None:
    assert [processor_of(f"ml.{each}") for each in ("c6i.2xlarge", "g6e.xlarge", "p6-b200.48xlarge")] == [
        "cpu",
        "cuda",
        "cuda",
    ]
    for each in ("c6i.2xlarge", "ml.c6i", "ml.c6i.huge", "ml.c7g.large", "ml.c6i.2xlarge ", "ml.c6i.0xlarge"):
        assert processor_of(each) is None
