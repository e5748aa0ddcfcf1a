"""Reads an endpoint of AWS's own llama.cpp container."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stacks.settings.container import no_libraries_in, pinned_image_from
from stacks.settings.endpoint_values import StandardEndpoint
from stacks.settings.fields import Fields
from stacks.settings.hosted_endpoint import engine_defaults, hosted_endpoint_from, values_of
from stacks.settings.instances import check_threads
from stacks.settings.model import archive_or_hub_from, check_bulk_model
from stacks.settings.source_values import AwsImage
from stacks.settings.standard_engine import standard_engine_variables


def standard_endpoint_from(fields: Fields, *, key: str, name: str, root: Path) -> StandardEndpoint:
    model = archive_or_hub_from(fields.table("model"), root=root)
    common = hosted_endpoint_from(fields, key=key, name=name, label_mass_problem="kind 'standard' reads no labels")
    engine = standard_engine_variables(
        fields.table_or_empty("engine"),
        target=common.target,
        defaults=engine_defaults(fields, target=common.target, threads="threads"),
    )
    check_threads(fields.table_or_empty("engine"), "threads", "threads_batch", endpoint=common)
    if common.bulk is not None:
        check_bulk_model(fields, model)
    pinned = pinned_image_from(fields.table("container"))
    no_libraries_in(fields.table("container"), reason="kind 'standard' runs the image of AWS as it is")
    return StandardEndpoint(**values_of(replace(common, engine=engine)), image=pinned or AwsImage(), model=model)
