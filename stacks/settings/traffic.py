"""Reads how an endpoint is called, scaled and updated."""

from __future__ import annotations

from stacks.instance_types import BURSTABLE_FAMILIES, family_of
from stacks.settings.endpoint_values import (
    Asynchronous,
    BlueGreen,
    FixedInstances,
    Instances,
    RealTime,
    Rolling,
    Scaling,
)
from stacks.settings.fields import Fields

# SageMaker's limits of a blue/green or rolling update.
_LONGEST_WAIT = 3600
_BATCH_PERCENT = (5, 50)


def invocation_from(hosting: Fields) -> RealTime | Asynchronous:
    if not hosting.has("asynchronous"):
        return RealTime()
    asynchronous = hosting.table("asynchronous")
    asynchronous.closed("max_concurrent_invocations_per_instance")
    return Asynchronous(
        max_concurrent_invocations_per_instance=asynchronous.number(
            "max_concurrent_invocations_per_instance", 1, 1000, default=4
        )
    )


def scaling_from(endpoint: Fields, *, instances: Instances, invocation: RealTime | Asynchronous) -> Scaling | None:
    """None where nothing is said of it: the number of instances stays."""
    if not endpoint.has("scaling"):
        return None
    scaling = endpoint.table("scaling")
    scaling.closed(
        "maximum", "minimum", "requests_per_instance", "scale_in_cooldown_seconds", "scale_out_cooldown_seconds"
    )
    if isinstance(instances, FixedInstances) and family_of(instances.instance_type) in BURSTABLE_FAMILIES:
        raise endpoint.table("hosting").error(
            "instance_type",
            "Application Auto Scaling takes no burstable instances. Remedy: another family, or no scaling",
        )
    minimum = scaling.number("minimum", 0, 100, default=1)
    if minimum == 0 and isinstance(invocation, RealTime):
        raise scaling.error(
            "minimum",
            "SageMaker keeps 1 instance of a real-time endpoint at least. Remedy: 1, or hosting.asynchronous, whose"
            " requests wait until an instance is there",
        )
    maximum = scaling.number("maximum", 1, 100)
    if maximum < minimum:
        raise scaling.error("maximum", f"scaling.minimum is {minimum}; {minimum} or more allowed")
    if not minimum <= instances.count <= maximum:
        raise endpoint.table_or_empty("hosting").error(
            "instance_count",
            f"the endpoint would start with {instances.count}, outside of its scaling; {max(1, minimum)} to {maximum}"
            " allowed",
        )
    return Scaling(
        minimum=minimum,
        maximum=maximum,
        requests_per_instance=scaling.number("requests_per_instance", 1, 1000, default=4),
        scale_out_cooldown_seconds=scaling.number("scale_out_cooldown_seconds", 0, 3600, default=60),
        scale_in_cooldown_seconds=scaling.number("scale_in_cooldown_seconds", 0, 3600, default=600),
    )


def update_from(endpoint: Fields, *, instances: Instances, scaling: Scaling | None) -> BlueGreen | Rolling:
    """Left out: a whole new fleet that takes all traffic at once, watched by the alarms for five minutes."""
    update = endpoint.table_or_empty("update")
    update.closed("blue_green", "rolling")
    fewest = instances.count if scaling is None else min(instances.count, scaling.minimum)
    if update.one_at_most("blue_green", "rolling") == "rolling":
        rolling = update.table("rolling")
        rolling.closed("bake_seconds", "batch_percent")
        percent = rolling.number("batch_percent", *_BATCH_PERCENT)
        _check_parts(rolling, "batch_percent", fewest)
        return Rolling(
            batch_percent=percent, bake_seconds=rolling.number("bake_seconds", 0, _LONGEST_WAIT, default=300)
        )
    blue_green = update.table_or_empty("blue_green")
    blue_green.closed("bake_seconds", "canary_percent", "termination_wait_seconds")
    canary = None
    if blue_green.has("canary_percent"):
        canary = blue_green.number("canary_percent", *_BATCH_PERCENT)
        _check_parts(blue_green, "canary_percent", fewest)
    return BlueGreen(
        canary_percent=canary,
        bake_seconds=blue_green.number("bake_seconds", 0, _LONGEST_WAIT, default=300),
        termination_wait_seconds=blue_green.number("termination_wait_seconds", 0, _LONGEST_WAIT, default=60),
    )


def _check_parts(fields: Fields, field: str, fewest: int) -> None:
    """SageMaker moves whole instances, half of them at most."""
    if fewest < 2:
        raise fields.error(
            field,
            f"a part of {fewest} instance is none. Remedy: hosting.instance_count (with scaling also scaling.minimum)"
            " of 2 or more, or blue_green without canary_percent",
        )
