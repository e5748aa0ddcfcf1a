"""Reads what a Batch Transform job runs on."""

from __future__ import annotations

from stacks.instance_types import BULK_FAMILIES, Processor, family_of
from stacks.settings.endpoint_values import Bulk
from stacks.settings.fields import Fields
from stacks.settings.instances import DEFAULT_CPU_INSTANCE, DEFAULT_GPU_POOLS, check_instance_type

_DEFAULT_INSTANCE: dict[Processor, str] = {"cpu": DEFAULT_CPU_INSTANCE, "cuda": DEFAULT_GPU_POOLS[0]}


def bulk_from(endpoint: Fields, *, target: Processor) -> Bulk | None:
    """None where nothing is said of it: no job definition."""
    if not endpoint.has("bulk"):
        return None
    bulk = endpoint.table("bulk")
    bulk.closed("instance_count", "instance_type", "max_concurrent_transforms")
    instance_type = bulk.text("instance_type", default=_DEFAULT_INSTANCE[target])
    check_instance_type(bulk, "instance_type", instance_type, target)
    if family_of(instance_type) not in BULK_FAMILIES:
        raise bulk.error(
            "instance_type", f"Batch Transform has no such instances; one of {', '.join(sorted(BULK_FAMILIES))} needed"
        )
    return Bulk(
        instance_type=instance_type,
        instance_count=bulk.number("instance_count", 1, 100, default=1),
        max_concurrent_transforms=bulk.number("max_concurrent_transforms", 1, 100, default=4),
    )
