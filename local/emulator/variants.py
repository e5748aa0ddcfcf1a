"""Production variants: the rules of AWS that its model of the API cannot say, and what a variant's container needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local.emulator.aws_errors import validation
from local.emulator.records import ModelRecord, VariantPlan

DEFAULT_STARTUP_SECONDS = 480.0  # AWS: eight minutes
FindModel = Callable[[str], ModelRecord]  # raises AwsError for an unknown name


def check(variant: dict[str, Any], find_model: FindModel) -> None:
    """Raises AwsError for what AWS's model of the API cannot say."""
    name = variant["VariantName"]
    if "ModelName" not in variant:
        raise validation(f"ModelName is required for production variant {name}.")
    find_model(variant["ModelName"])
    chosen = [key for key in ("InstanceType", "InstancePools", "ServerlessConfig") if variant.get(key)]
    if len(chosen) != 1:
        got = " and ".join(chosen) or "none of them"
        raise validation(
            f"Exactly one of InstanceType, InstancePools and ServerlessConfig is needed for production variant "
            f"{name}; got {got}."
        )
    if "VariantInstanceProvisionTimeoutInSeconds" in variant and chosen != ["InstancePools"]:
        raise validation(f"VariantInstanceProvisionTimeoutInSeconds of production variant {name} needs InstancePools.")
    pools = variant.get("InstancePools", [])
    for key in ("Priority", "InstanceType"):
        values = [pool[key] for pool in pools]
        if len(set(values)) != len(values):
            raise validation(f"InstancePools of production variant {name}: {key} must be unique; got {values}.")
    for pool in pools:
        if "ModelNameOverride" in pool:
            find_model(pool["ModelNameOverride"])


def plan(variant: dict[str, Any], find_model: FindModel) -> VariantPlan:
    """The first pool stands for all: this machine always has room."""
    pools = sorted(variant.get("InstancePools", []), key=lambda pool: int(pool["Priority"]))
    first = pools[0] if pools else {}
    model = find_model(first.get("ModelNameOverride", variant["ModelName"]))
    container = model.request["PrimaryContainer"]
    return VariantPlan(
        name=variant["VariantName"],
        image=model.resolved_image,
        specified_image=container["Image"],
        model_data_url=model_data_url(container),
        environment=dict(container.get("Environment", {})),
        startup_timeout=float(variant.get("ContainerStartupHealthCheckTimeoutInSeconds", DEFAULT_STARTUP_SECONDS)),
        instance_count=int(variant.get("InitialInstanceCount", 1)),
        weight=float(variant.get("InitialVariantWeight", 1.0)),
        instance_type=first.get("InstanceType", variant.get("InstanceType", "serverless")),
    )


def model_data_url(container: dict[str, Any]) -> str | None:
    """The archive's s3:// URL, whichever way the container spells it."""
    source = container.get("ModelDataSource", {}).get("S3DataSource")
    if source is None:
        return container.get("ModelDataUrl")
    if (source["S3DataType"], source["CompressionType"]) != ("S3Object", "Gzip"):
        raise validation(
            "This emulator reads model data as one gzip archive: S3DataType S3Object, CompressionType Gzip."
        )
    url: str = source["S3Uri"]
    return url
