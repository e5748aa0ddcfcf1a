"""Reads what both kinds of endpoint have in common: on what they run, how they are called, scaled and watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

from stacks.instance_types import Processor
from stacks.settings.bulk import bulk_from
from stacks.settings.container import target_from
from stacks.settings.endpoint_values import HostedEndpoint
from stacks.settings.fields import Fields
from stacks.settings.instances import instances_from
from stacks.settings.traffic import invocation_from, scaling_from, update_from
from stacks.settings.watch import alarms_from, capture_from

_TIMEOUT_SECONDS = (60, 3600)
_DEFAULT_TIMEOUT_SECONDS = 1200
_DEFAULT_CPU_THREADS = 32  # of the default instance, ml.c6i.8xlarge


def hosted_endpoint_from(fields: Fields, *, key: str, name: str, label_mass_problem: str | None) -> HostedEndpoint:
    """The engine's variables are still to come: each kind has its own.

    label_mass_problem: why there is no mass of labels to watch, if so.
    """
    target = target_from(fields.table("container"))
    hosting = fields.table_or_empty("hosting")
    hosting.closed(
        "asynchronous", "instance_count", "instance_pools", "instance_type", "model_download_timeout_seconds",
        "provision_timeout_seconds", "startup_timeout_seconds",
    )  # fmt: skip
    instances = instances_from(hosting, target=target)
    invocation = invocation_from(hosting)
    scaling = scaling_from(fields, instances=instances, invocation=invocation)
    return HostedEndpoint(
        key=key,
        name=name,
        target=target,
        instances=instances,
        model_download_timeout_seconds=hosting.number(
            "model_download_timeout_seconds", *_TIMEOUT_SECONDS, default=_DEFAULT_TIMEOUT_SECONDS
        ),
        startup_timeout_seconds=hosting.number(
            "startup_timeout_seconds", *_TIMEOUT_SECONDS, default=_DEFAULT_TIMEOUT_SECONDS
        ),
        invocation=invocation,
        engine=(),
        scaling=scaling,
        update=update_from(fields, instances=instances, scaling=scaling),
        alarms=alarms_from(fields, target=target, invocation=invocation, label_mass_problem=label_mass_problem),
        capture=capture_from(fields),
        bulk=bulk_from(fields, target=target),
    )


def engine_defaults(fields: Fields, *, target: Processor, threads: str) -> Mapping[str, int]:
    """What the original sample sets: all layers on a GPU; on its CPU instance, and on no other, 32 threads."""
    if target == "cuda":
        return {"n_gpu_layers": -1}
    return {} if fields.table_or_empty("hosting").has("instance_type") else {threads: _DEFAULT_CPU_THREADS}


def values_of(common: HostedEndpoint) -> dict[str, Any]:
    """To make one of either kind of."""
    return {each.name: getattr(common, each.name) for each in fields_of(common)}
