"""Reads what a Batch Transform job runs on."""

from __future__ import annotations

from stacks.instance_types import BULK_FAMILIES, NOT_FOR_BULK, Processor, family_of
from stacks.settings.endpoint_values import Bulk
from stacks.settings.fields import Fields
from stacks.settings.instances import DEFAULT_CPU_INSTANCE, DEFAULT_GPU_POOLS, check_instance_type

# CreateTransformJob: what runs at once times the size of one may not exceed this.
MOST_MEGABYTES_AT_ONCE = 100
# CreateTransformJob waits an hour for an answer at most; the job waits this much longer than the container's deadline.
GRACE_SECONDS = 10
_LONGEST_DEADLINE_SECONDS = 3600 - GRACE_SECONDS
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
    if instance_type in NOT_FOR_BULK:
        raise bulk.error("instance_type", "Batch Transform has no such size; a larger one needed")
    return Bulk(
        instance_type=instance_type,
        instance_count=bulk.number("instance_count", 1, 100, default=1),
        max_concurrent_transforms=bulk.number("max_concurrent_transforms", 1, 100, default=4),
    )


def payload_megabytes(max_body_bytes: int) -> int:
    """How Batch Transform says it: whole megabytes, rounded up."""
    return -(-max_body_bytes // 2**20)


def check_bulk_engine(endpoint: Fields, bulk: Bulk, *, max_body_bytes: int, deadline_seconds: int) -> None:
    """Raises SettingsError for an engine whose requests Batch Transform cannot carry."""
    megabytes = payload_megabytes(max_body_bytes)
    if bulk.max_concurrent_transforms * megabytes > MOST_MEGABYTES_AT_ONCE:
        raise endpoint.table("bulk").error(
            "max_concurrent_transforms",
            f"{bulk.max_concurrent_transforms} requests of {megabytes} MB (engine.max_body_bytes) at once;"
            f" {MOST_MEGABYTES_AT_ONCE} MB together allowed. Remedy: lower one of the two",
        )
    if deadline_seconds > _LONGEST_DEADLINE_SECONDS:
        raise endpoint.table("engine").error(
            "deadline_seconds", f"with bulk {_LONGEST_DEADLINE_SECONDS} at most allowed: SageMaker waits an hour"
        )
