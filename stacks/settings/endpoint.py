"""Reads one endpoint of either kind."""

from __future__ import annotations

from pathlib import Path

from stacks.settings.decision_endpoint import decision_endpoint_from
from stacks.settings.endpoint_values import Endpoint
from stacks.settings.fields import Fields
from stacks.settings.standard_endpoint import standard_endpoint_from


def endpoint_from(fields: Fields, *, key: str, name: str, root: Path) -> Endpoint:
    """name: of the stack and of the SageMaker endpoint. root: the project's folder, for declarations."""
    fields.closed(
        "alarms", "bulk", "capture", "container", "engine", "hosting", "kind", "model", "scaling", "update"
    )  # fmt: skip
    match fields.word("kind", ("decision", "standard")):
        case "decision":
            return decision_endpoint_from(fields, key=key, name=name, root=root)
        case _:
            return standard_endpoint_from(fields, key=key, name=name, root=root)
