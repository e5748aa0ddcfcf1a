"""The settings of one endpoint as values. Knows not where they are read from, nor what is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from stacks.instance_types import Processor
from stacks.settings.source_values import AwsImage, BuiltImage, BuiltModel, HubModel, PinnedImage, PinnedModel


@dataclass(frozen=True, kw_only=True)
class FixedInstances:
    """`count` instances of one type."""

    instance_type: str
    count: int


@dataclass(frozen=True, kw_only=True)
class InstancePools:
    """`count` instances, each of the first type that has capacity within the timeout."""

    instance_types: tuple[str, ...]
    count: int
    provision_timeout_seconds: int


Instances: TypeAlias = "FixedInstances | InstancePools"


@dataclass(frozen=True, kw_only=True)
class RealTime:
    """InvokeEndpoint: the caller waits, 60 s at most."""


@dataclass(frozen=True, kw_only=True)
class Asynchronous:
    """InvokeEndpointAsync: requests wait in SageMaker's queue, answers go to the artifact bucket below `async/`."""

    max_concurrent_invocations_per_instance: int


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Target tracking on requests under way (real time) or waiting (asynchronous) per instance.

    minimum: 0 for asynchronous hosting only.
    """

    minimum: int
    maximum: int
    requests_per_instance: int
    scale_out_cooldown_seconds: int
    scale_in_cooldown_seconds: int


@dataclass(frozen=True, kw_only=True)
class BlueGreen:
    """The new fleet is whole before it gets traffic: `canary_percent` of it first, all of it after `bake_seconds`.

    canary_percent: 5 to 50, or None to shift all at once.
    """

    canary_percent: int | None
    bake_seconds: int
    termination_wait_seconds: int


@dataclass(frozen=True, kw_only=True)
class Rolling:
    """Instances are replaced `batch_percent` (5 to 50) at a time, so no second fleet is paid for."""

    batch_percent: int
    bake_seconds: int


@dataclass(frozen=True, kw_only=True)
class AlarmLimits:
    """Beyond these an alarm goes off, and an update is rolled back. Rates are of all requests in 5 minutes, in percent.

    latency_p95_seconds: SageMaker's ModelLatency. busy_percent: 503 answers, of all requests.
    label_mass: the lowest accepted mean of allowed_token_mass, 0 to 1, or None for no such alarm.
    """

    server_error_percent: float
    busy_percent: float
    latency_p95_seconds: float
    label_mass: float | None


@dataclass(frozen=True, kw_only=True)
class DataCapture:
    """Requests and answers are kept in the artifact bucket below `capture/`."""

    sampling_percent: int


@dataclass(frozen=True, kw_only=True)
class Bulk:
    """What a Batch Transform job over this model runs on."""

    instance_type: str
    instance_count: int
    max_concurrent_transforms: int


@dataclass(frozen=True, kw_only=True)
class HostedEndpoint:
    """What both kinds have in common. `engine` holds the container's variables, by name."""

    key: str
    name: str
    target: Processor
    instances: Instances
    model_download_timeout_seconds: int
    startup_timeout_seconds: int
    invocation: RealTime | Asynchronous
    engine: tuple[tuple[str, str], ...]
    scaling: Scaling | None
    update: BlueGreen | Rolling
    alarms: AlarmLimits
    capture: DataCapture | None
    bulk: Bulk | None


@dataclass(frozen=True, kw_only=True)
class DecisionEndpoint(HostedEndpoint):
    """Our own container: it answers decisions."""

    image: BuiltImage | PinnedImage
    model: BuiltModel | PinnedModel


@dataclass(frozen=True, kw_only=True)
class StandardEndpoint(HostedEndpoint):
    """The llama.cpp container of AWS, unmodified: it answers chat completions."""

    image: AwsImage | PinnedImage
    model: BuiltModel | PinnedModel | HubModel


Endpoint: TypeAlias = "DecisionEndpoint | StandardEndpoint"
