"""The control plane's records: what CreateModel, CreateEndpointConfig and CreateEndpoint leave behind. Values, no
behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

EndpointStatus: TypeAlias = Literal["Creating", "Updating", "InService", "Failed", "Deleting"]


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """resolved_image: the image by digest, as it was when the model was created."""

    name: str
    arn: str
    request: dict[str, Any]
    resolved_image: str
    created: float


@dataclass(frozen=True, kw_only=True)
class EndpointConfigRecord:
    name: str
    arn: str
    request: dict[str, Any]
    created: float


@dataclass(frozen=True, kw_only=True)
class VariantPlan:
    """One production variant, everything its container needs: a later deletion of model or config does not touch it."""

    name: str
    image: str
    specified_image: str
    model_data_url: str | None
    environment: dict[str, str]
    startup_timeout: float
    instance_count: int
    weight: float
    instance_type: str
    role_arn: str


@dataclass(kw_only=True)
class EndpointRecord:
    """Changed only while its plane's lock is held."""

    name: str
    arn: str
    config_name: str
    created: float
    modified: float
    status: EndpointStatus = "Creating"
    failure_reason: str | None = None
    pending_config_name: str | None = None
    plans: list[VariantPlan] = field(default_factory=list)
    tags: list[dict[str, str]] = field(default_factory=list)
