"""The settings of one environment as values. Knows not where they are read from, nor what is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from stacks.instance_types import Processor


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
class BuiltImage:
    """The image is built from container/."""


@dataclass(frozen=True, kw_only=True)
class PinnedImage:
    """An image that is in ECR already, by digest."""

    uri: str
    account: str
    region: str
    repository: str


@dataclass(frozen=True, kw_only=True)
class BuiltModel:
    """The model archive is packaged from a declaration, a path below the project's root."""

    declaration: str


@dataclass(frozen=True, kw_only=True)
class PinnedModel:
    """A model archive that is in S3 already. `key` is PREFIX/<64 hex>/model.tar.gz."""

    bucket: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Environment:
    """All settings of one environment, checked. `engine` holds the container's variables, by name."""

    name: str
    target: Processor
    image: BuiltImage | PinnedImage
    model: BuiltModel | PinnedModel
    instances: Instances
    model_download_timeout_seconds: int
    startup_timeout_seconds: int
    engine: tuple[tuple[str, str], ...]
    ephemeral: bool
    log_retention_days: int
