"""The families of instances are such that SageMaker has."""

from __future__ import annotations

import botocore.session

from stacks.instance_types import (
    BULK_FAMILIES,
    CPU_FAMILIES,
    GPU_FAMILIES,
    LOCAL_NVME_FAMILIES,
    NOT_FOR_BULK,
    SIZES,
    family_of,
    processor_of,
    vcpus_of,
)


def types(shape: str) -> set[str]:
    """An enumeration in AWS's own description of the API, as far as its families are ours."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    return {each for each in model.shape_for(shape).enum if family_of(each) in SIZES}  # type: ignore[attr-defined]


def ours() -> set[str]:
    return {f"ml.{family}.{size}" for family, sizes in SIZES.items() for size in sizes}


def test_the_settings_allow_exactly_the_types_of_these_families_that_sagemaker_hosts_on() -> None:
    assert ours() == types("ProductionVariantInstanceType")


def test_a_bulk_job_is_allowed_exactly_where_batch_transform_has_such_instances() -> None:
    allowed = {each for each in ours() if family_of(each) in BULK_FAMILIES} - NOT_FOR_BULK
    assert allowed == types("TransformInstanceType")


def test_the_vcpus_of_a_type_follow_from_its_size_but_for_a_few() -> None:
    known = {
        "ml.c6i.large": 2, "ml.c6i.xlarge": 4, "ml.c6i.8xlarge": 32, "ml.g4dn.2xlarge": 8, "ml.c5.18xlarge": 72,
        "ml.p5.48xlarge": 192, "ml.c4.8xlarge": 36, "ml.t2.medium": 2, "ml.t2.2xlarge": 8,
    }  # fmt: skip
    assert {each: vcpus_of(each) for each in known} == known
    assert all(vcpus_of(each) >= 2 for each in ours())


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
    for each in (
        "c6i.2xlarge",
        "ml.c6i",
        "ml.c6i.huge",
        "ml.c7g.large",
        "ml.c6i.13xlarge",
        "ml.t2.99xlarge",
        "ml.g6e.large",
    ):
        assert processor_of(each) is None
