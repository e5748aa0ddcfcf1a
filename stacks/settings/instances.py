"""Reads on what instances the endpoint runs: a fixed type, or GPU pools in order of preference."""

from __future__ import annotations

from stacks.instance_types import CPU_FAMILIES, GPU_FAMILIES, SIZES, Processor, family_of, processor_of, vcpus_of
from stacks.settings.endpoint_values import FixedInstances, HostedEndpoint, InstancePools, Instances
from stacks.settings.fields import Fields

# What the original sample runs on. The CPU type goes with 32 threads (engine.py).
DEFAULT_CPU_INSTANCE = "ml.c6i.8xlarge"
DEFAULT_GPU_POOLS = ("ml.g6e.xlarge", "ml.g6.2xlarge", "ml.g5.2xlarge", "ml.g4dn.2xlarge")


def instances_from(hosting: Fields, *, target: Processor) -> Instances:
    """Raises SettingsError, also for a type that cannot run the container of `target`."""
    count = hosting.number("instance_count", 1, 100, default=1)
    given = hosting.one_at_most("instance_pools", "instance_type")
    if given == "instance_pools" or (given is None and target == "cuda"):
        types = _pool_types(hosting, target=target) if given else DEFAULT_GPU_POOLS
        timeout = hosting.number("provision_timeout_seconds", 300, 3600, default=1200)
        return InstancePools(instance_types=types, count=count, provision_timeout_seconds=timeout)
    if hosting.has("provision_timeout_seconds"):
        raise hosting.error("provision_timeout_seconds", "it belongs to instance_pools; an instance_type has none")
    instance_type = hosting.text("instance_type", default=DEFAULT_CPU_INSTANCE)
    check_instance_type(hosting, "instance_type", instance_type, target)
    return FixedInstances(instance_type=instance_type, count=count)


def _pool_types(hosting: Fields, *, target: Processor) -> tuple[str, ...]:
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
        check_instance_type(hosting, "instance_pools", each, target, index=index)
    return types


def check_instance_type(
    fields: Fields, field: str, instance_type: str, target: Processor, *, index: int | None = None
) -> None:
    """Raises SettingsError for a type that does not run the image of `target`."""
    fits = processor_of(instance_type)
    if fits == target:
        return
    family = family_of(instance_type)
    if fits is None and family in SIZES:
        raise fields.error(
            field, f"SageMaker has no such size of {family}; one of {', '.join(SIZES[family])} needed", index=index
        )
    if fits is None:
        families = ", ".join(sorted(GPU_FAMILIES if target == "cuda" else CPU_FAMILIES))
        raise fields.error(
            field,
            f"ml.FAMILY.SIZE needed, with a family that runs the {target} image: {families} (stacks/instance_types.py)",
            index=index,
        )
    raise fields.error(
        field,
        f"a {'GPU' if fits == 'cuda' else 'CPU'} instance; container.target is {target!r}."
        f" Remedy: container.target {fits!r}, or another instance",
        index=index,
    )


def check_threads(engine: Fields, *settings: str, endpoint: HostedEndpoint) -> None:
    """More threads than the smallest of the instances has vCPUs wait for each other."""
    smallest = min(instance_types_of(endpoint), key=vcpus_of)
    for each in settings:
        if engine.has(each) and engine.number(each, 1, None) > vcpus_of(smallest):
            raise engine.error(each, f"{smallest} has {vcpus_of(smallest)} vCPUs; {vcpus_of(smallest)} at most allowed")


def instance_types_of(endpoint: HostedEndpoint) -> tuple[str, ...]:
    """All that the endpoint and its bulk job may run on."""
    match endpoint.instances:
        case FixedInstances(instance_type=instance_type):
            types: tuple[str, ...] = (instance_type,)
        case InstancePools(instance_types=types):
            pass
    return types if endpoint.bulk is None else (*types, endpoint.bulk.instance_type)
