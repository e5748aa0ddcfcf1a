"""The settings of one environment as values: what all its endpoints share, and the endpoints."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.settings.endpoint_values import Endpoint


@dataclass(frozen=True, kw_only=True)
class Network:
    """A VPC that is there already. security_group_ids: empty for one of our own that lets HTTPS out and nothing in."""

    vpc_id: str
    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Keys:
    """KMS keys that are there already, by ARN. None: the service's own key.

    data: bucket, repository, logs, topic, captures, answers. volume: the instances' storage volume.
    """

    data: str | None
    volume: str | None


@dataclass(frozen=True, kw_only=True)
class Notifications:
    """Who hears of alarms: a topic that is there already, or one of our own with these addresses (maybe none)."""

    topic_arn: str | None
    emails: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A monthly limit on what carries the environment's tag. Told at 80 % spent and at 100 % forecast."""

    monthly_usd: int
    emails: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """All settings of one environment, checked. tags: key and value, in order of the keys."""

    name: str
    ephemeral: bool
    log_retention_days: int
    network: Network | None
    keys: Keys
    notifications: Notifications
    budget: Budget | None
    tags: tuple[tuple[str, str], ...]
    endpoints: tuple[Endpoint, ...]
