"""Production variants: the rules of AWS that its model of the API cannot say, and what a variant's container needs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from local.emulator.aws_errors import validation
from local.emulator.records import ModelRecord, VariantPlan

DEFAULT_STARTUP_SECONDS = 480.0  # AWS: eight minutes
# Nitro instances with NVMe disks of their own.
LOCAL_STORAGE = re.compile(r"ml\.(?:[cmr]\d[a-z]*d[a-z]*|g[4-9][a-z]*|gr6|i\d[a-z]*|p[4-9][a-z0-9-]*|trn\w*)\.")
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
        role_arn=model.request["ExecutionRoleArn"],
    )


def retained(plans: list[VariantPlan], running: list[VariantPlan], *, excluded: set[str]) -> list[VariantPlan]:
    """RetainAllVariantProperties: what was set while the endpoint ran wins over the new configuration.

    excluded: of DesiredInstanceCount and DesiredWeight those that the new configuration shall set.
    """
    before = {plan.name: plan for plan in running}
    kept = []
    for plan in plans:
        old = before.get(plan.name, plan)
        count = plan.instance_count if "DesiredInstanceCount" in excluded else old.instance_count
        weight = plan.weight if "DesiredWeight" in excluded else old.weight
        kept.append(dataclasses.replace(plan, instance_count=count, weight=weight))
    return kept


def check_storage_key(variants: list[dict[str, Any]], key: str | None) -> None:
    """Raises AwsError where a KMS key is given for instances whose own disks encrypt themselves."""
    types = [pool["InstanceType"] for variant in variants for pool in variant.get("InstancePools", [])]
    types += [variant["InstanceType"] for variant in variants if "InstanceType" in variant]
    local = sorted({each for each in types if LOCAL_STORAGE.match(each)})
    if local and key:
        raise validation(f"KmsKeyId cannot be specified for instances with local storage: {', '.join(local)}.")


def model_data_url(container: dict[str, Any]) -> str | None:
    """The s3:// URL of the archive, whichever way the container spells it, or of a prefix, which ends in "/"."""
    source = container.get("ModelDataSource", {}).get("S3DataSource")
    if source is None:
        return container.get("ModelDataUrl")
    url: str = source["S3Uri"]
    kind: str = f"{source['S3DataType']} {source['CompressionType']}"
    if kind not in {"S3Object Gzip", "S3Prefix None"}:
        raise validation(
            "This emulator reads model data as one gzip archive (S3DataType S3Object, CompressionType Gzip) or as all "
            "that stands under a prefix (S3Prefix, None)."
        )
    if kind.startswith("S3Prefix") != url.endswith("/"):
        raise validation(f"S3Uri {url}: a prefix ends in a slash, and an object does not.")
    return url


def packed_model_data_url(container: dict[str, Any]) -> str | None:
    """Of a model for a transform job, which SageMaker runs with an archive only."""
    if "ModelDataSource" in container:
        raise validation("ModelDataSource cannot be used with batch transform; give the model's ModelDataUrl.")
    return model_data_url(container)
