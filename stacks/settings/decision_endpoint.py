"""Reads an endpoint of our own container, and checks what is asked of it against what that container can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from model_packaging.declaration import read_declaration
from stacks.settings.bulk import check_bulk_engine
from stacks.settings.container import decision_image_from
from stacks.settings.endpoint_values import Asynchronous, DecisionEndpoint, HostedEndpoint
from stacks.settings.engine import DEADLINE_SECONDS, MAX_BODY_BYTES, QUEUE_SIZE, engine_variables
from stacks.settings.fields import Fields
from stacks.settings.hosted_endpoint import engine_defaults, hosted_endpoint_from, values_of
from stacks.settings.instances import check_threads
from stacks.settings.model import archive_from, check_bulk_model
from stacks.settings.source_values import BuiltModel, PinnedModel


def decision_endpoint_from(fields: Fields, *, key: str, name: str, root: Path) -> DecisionEndpoint:
    model = archive_from(fields.table("model"), root=root)
    common = hosted_endpoint_from(fields, key=key, name=name, label_mass_problem=None)
    engine = engine_variables(
        fields.table_or_empty("engine"),
        target=common.target,
        defaults=engine_defaults(fields, target=common.target, threads="n_threads"),
        asynchronous=isinstance(common.invocation, Asynchronous),
    )
    check_threads(fields.table_or_empty("engine"), "n_threads", endpoint=common)
    variables = dict(engine)
    if common.alarms.label_mass is not None:
        _check_label_mass(fields, variables, model=model, root=root)
    _check_queue(fields, common, holds=1 + int(variables.get("DECISION_QUEUE_SIZE", QUEUE_SIZE)))
    if common.bulk is not None:
        check_bulk_model(fields, model)
        check_bulk_engine(
            fields,
            common.bulk,
            max_body_bytes=int(variables.get("DECISION_MAX_BODY_BYTES", MAX_BODY_BYTES)),
            deadline_seconds=int(variables.get("DECISION_DEADLINE_SECONDS", DEADLINE_SECONDS)),
        )
    image = decision_image_from(fields.table("container"))
    return DecisionEndpoint(**values_of(replace(common, engine=engine)), image=image, model=model)


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
