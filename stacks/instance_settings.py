"""Reads on what instances the endpoint runs: a fixed type, or GPU pools in order of preference."""

from __future__ import annotations

from stacks.instance_types import CPU_FAMILIES, GPU_FAMILIES, Processor, processor_of
from stacks.setting_fields import Fields
from stacks.settings import FixedInstances, InstancePools, Instances


def instances_from(hosting: Fields, *, target: Processor) -> Instances:
    """Raises SettingsError, also for a type that cannot run the container of `target`."""
    hosting.closed(
        "instance_count",
        "instance_pools",
        "instance_type",
        "model_download_timeout_seconds",
        "provision_timeout_seconds",
        "startup_timeout_seconds",
    )
    count = hosting.number("instance_count", 1, 100)
    if hosting.exactly_one("instance_pools", "instance_type") == "instance_pools":
        return _pools(hosting, count=count, target=target)
    if hosting.has("provision_timeout_seconds"):
        raise hosting.error("provision_timeout_seconds", "it belongs to instance_pools; an instance_type has none")
    instance_type = hosting.text("instance_type")
    _check_processor(hosting, "instance_type", instance_type, target)
    return FixedInstances(instance_type=instance_type, count=count)


def _pools(hosting: Fields, *, count: int, target: Processor) -> InstancePools:
    types = hosting.texts("instance_pools")
    if not 1 <= len(types) <= 5:
        raise hosting.error("instance_pools", f"{len(types)} types; 1 to 5 allowed, in order of preference")
    twice = sorted({each for each in types if types.count(each) > 1})
    if twice:
        raise hosting.error("instance_pools", f"{', '.join(twice)} twice; each type has one priority")
    if target != "cuda":
        raise hosting.error(
            "instance_pools", "pools are for GPU instances. Remedy: container.target 'cuda', or one instance_type"
        )
    for index, each in enumerate(types):
        _check_processor(hosting, "instance_pools", each, target, index=index)
    timeout = hosting.number("provision_timeout_seconds", 300, 3600)
    return InstancePools(instance_types=types, count=count, provision_timeout_seconds=timeout)


def _check_processor(
    hosting: Fields, field: str, instance_type: str, target: Processor, *, index: int | None = None
) -> None:
    fits = processor_of(instance_type)
    if fits == target:
        return
    if fits is None:
        families = ", ".join(sorted(GPU_FAMILIES if target == "cuda" else CPU_FAMILIES))
        raise hosting.error(
            field,
            f"ml.FAMILY.SIZE needed, with a family that runs the {target} image: {families} (stacks/instance_types.py)",
            index=index,
        )
    raise hosting.error(
        field,
        f"a {'GPU' if fits == 'cuda' else 'CPU'} instance; container.target is {target!r}."
        f" Remedy: container.target {fits!r}, or another instance",
        index=index,
    )
