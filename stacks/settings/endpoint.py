"""Reads one endpoint: which container, which model, on what, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path
from typing import Any

from model_packaging.declaration import read_declaration
from stacks.instance_types import Processor
from stacks.settings.bulk import bulk_from, check_bulk_engine
from stacks.settings.container import pinned_image_from, target_from
from stacks.settings.endpoint_values import (
    Asynchronous,
    AwsImage,
    BuiltImage,
    BuiltModel,
    DecisionEndpoint,
    Endpoint,
    HostedEndpoint,
    PinnedModel,
    StandardEndpoint,
)
from stacks.settings.engine import DEADLINE_SECONDS, MAX_BODY_BYTES, QUEUE_SIZE, engine_variables
from stacks.settings.fields import Fields
from stacks.settings.instances import instances_from
from stacks.settings.model import archive_from, archive_or_hub_from
from stacks.settings.standard_engine import standard_engine_variables
from stacks.settings.traffic import invocation_from, scaling_from, update_from
from stacks.settings.watch import alarms_from, capture_from

_TIMEOUT_SECONDS = (60, 3600)
_DEFAULT_TIMEOUT_SECONDS = 1200
_DEFAULT_CPU_THREADS = 32  # of the default instance, ml.c6i.8xlarge


def endpoint_from(fields: Fields, *, key: str, name: str, root: Path) -> Endpoint:
    """name: of the stack and of the SageMaker endpoint. root: the project's folder, for declarations."""
    fields.closed(
        "alarms", "bulk", "capture", "container", "engine", "hosting", "kind", "model", "scaling", "update"
    )  # fmt: skip
    match fields.word("kind", ("decision", "standard")):
        case "decision":
            return _decision(fields, key=key, name=name, root=root)
        case _:
            return _standard(fields, key=key, name=name, root=root)


def _decision(fields: Fields, *, key: str, name: str, root: Path) -> DecisionEndpoint:
    model = archive_from(fields.table("model"), root=root)
    common = _common(fields, key=key, name=name, label_mass_problem=None)
    engine = engine_variables(
        fields.table_or_empty("engine"),
        target=common.target,
        defaults=_engine_defaults(fields, target=common.target, threads="n_threads"),
        asynchronous=isinstance(common.invocation, Asynchronous),
    )
    if common.alarms.label_mass is not None:
        _check_label_mass(fields, dict(engine), model=model, root=root)
    variables = dict(engine)
    _check_queue(fields, common, holds=1 + int(variables.get("DECISION_QUEUE_SIZE", QUEUE_SIZE)))
    if common.bulk is not None:
        check_bulk_engine(
            fields,
            common.bulk,
            max_body_bytes=int(variables.get("DECISION_MAX_BODY_BYTES", MAX_BODY_BYTES)),
            deadline_seconds=int(variables.get("DECISION_DEADLINE_SECONDS", DEADLINE_SECONDS)),
        )
    pinned = pinned_image_from(fields.table("container"))
    return DecisionEndpoint(**_values(replace(common, engine=engine)), image=pinned or BuiltImage(), model=model)


def _standard(fields: Fields, *, key: str, name: str, root: Path) -> StandardEndpoint:
    model = archive_or_hub_from(fields.table("model"), root=root)
    common = _common(fields, key=key, name=name, label_mass_problem="kind 'standard' reads no labels")
    engine = standard_engine_variables(
        fields.table_or_empty("engine"),
        target=common.target,
        defaults=_engine_defaults(fields, target=common.target, threads="threads"),
    )
    pinned = pinned_image_from(fields.table("container"))
    return StandardEndpoint(**_values(replace(common, engine=engine)), image=pinned or AwsImage(), model=model)


def _common(fields: Fields, *, key: str, name: str, label_mass_problem: str | None) -> HostedEndpoint:
    """All that both kinds read alike; the engine's variables are still to come."""
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
        alarms=alarms_from(fields, target=target, label_mass_problem=label_mass_problem),
        capture=capture_from(fields),
        bulk=bulk_from(fields, target=target),
    )


def _engine_defaults(fields: Fields, *, target: Processor, threads: str) -> Mapping[str, int]:
    """What the original sample sets: all layers on a GPU; on its CPU instance, and on no other, 32 threads."""
    if target == "cuda":
        return {"n_gpu_layers": -1}
    return {} if fields.table_or_empty("hosting").has("instance_type") else {threads: _DEFAULT_CPU_THREADS}


def _check_label_mass(
    fields: Fields, variables: Mapping[str, str], *, model: BuiltModel | PinnedModel, root: Path
) -> None:
    """The likelihood readout scores texts: next to nothing of the whole probability, even when all is well."""
    readout = variables.get("DECISION_READOUT")
    if readout is None and isinstance(model, BuiltModel):
        readout = read_declaration(root / model.declaration).serving.readout
    if readout == "likelihood":
        raise fields.table("alarms").error(
            "label_mass", "the readout is 'likelihood', which reads no labels. Remedy: leave it out"
        )


def _check_queue(fields: Fields, common: HostedEndpoint, *, holds: int) -> None:
    """What is sent beyond what the container holds is answered 503; a target beyond it is never reached."""
    hosting = fields.table_or_empty("hosting")
    sent: list[tuple[Fields, str, int]] = []
    if isinstance(common.invocation, Asynchronous):
        most = common.invocation.max_concurrent_invocations_per_instance
        sent.append((hosting.table("asynchronous"), "max_concurrent_invocations_per_instance", most))
    elif common.scaling is not None:
        sent.append((fields.table("scaling"), "requests_per_instance", common.scaling.requests_per_instance))
    if common.bulk is not None:
        sent.append((fields.table("bulk"), "max_concurrent_transforms", common.bulk.max_concurrent_transforms))
    for table, field, number in sent:
        if number > holds:
            raise table.error(
                field, f"the container holds {holds} requests (1 and engine.queue_size); {holds} at most allowed"
            )


def _values(common: HostedEndpoint) -> dict[str, Any]:
    return {each.name: getattr(common, each.name) for each in fields_of(common)}
