"""Reads the settings of one environment from the context: what its endpoints share, then each endpoint.

Each rule of these readers is a synth error, before anything is deployed or paid for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stacks.settings.endpoint import endpoint_from
from stacks.settings.endpoint_values import Endpoint
from stacks.settings.environment_values import Environment
from stacks.settings.fields import Fields, SettingsError
from stacks.settings.keys_and_regions import check_regions, check_volumes
from stacks.settings.shared import budget_from, keys_from, network_from, notifications_from, tags_from

LOG_RETENTION_DAYS = (1, 7, 30, 90, 365, 3653)
# The names of the stacks that are no endpoints.
RESERVED_KEYS = ("artifacts", "builds", "operations")
# With `decision-` and a hyphen 60 of the 63 characters that SageMaker allows. A key holds no hyphen, so that the
# last one always parts environment and key: `a` with `b-c` would name the same stack as `a-b` with `c`.
_ENVIRONMENT_NAME = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")
_ENDPOINT_KEY = re.compile(r"[a-z][a-z0-9]{0,19}")


def environment_from_context(*, name: object, environments: object, root: Path) -> Environment:
    """The checked settings of environment `name`. Raises SettingsError, written for whoever typed the command."""
    if not isinstance(environments, Mapping) or not environments:
        raise SettingsError('cdk.json: the context has no "environments"; it holds the settings of each environment')
    known = ", ".join(sorted(environments))
    if name is None:
        raise SettingsError(f"no environment chosen. Remedy: -c env=NAME, with one of {known}")
    if not isinstance(name, str) or name not in environments:
        raise SettingsError(f"environment {name!r} is unknown. Remedy: -c env=NAME with one of {known}")
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise SettingsError(
            f"environment {name!r}: it names stacks and endpoints; 1 to 30 of a-z, 0-9 and -, a letter first and no -"
            " last, needed"
        )
    return _environment(Fields(where=f"environment {name}", path="", value=environments[name]), name=name, root=root)


def _environment(fields: Fields, *, name: str, root: Path) -> Environment:
    fields.closed(
        "budget", "endpoints", "ephemeral", "keys", "log_retention_days", "network", "notifications", "tags"
    )  # fmt: skip
    keys = keys_from(fields)
    endpoints = _endpoints(fields, environment=name, root=root)
    if keys.volume is not None:
        check_volumes(fields, endpoints)
    notifications = notifications_from(fields)
    check_regions(fields, keys, notifications, endpoints)
    return Environment(
        name=name,
        ephemeral=fields.flag("ephemeral", default=False),
        log_retention_days=fields.one_of("log_retention_days", LOG_RETENTION_DAYS, default=30),
        network=network_from(fields),
        keys=keys,
        notifications=notifications,
        budget=budget_from(fields),
        tags=tags_from(fields),
        endpoints=endpoints,
    )


def _endpoints(fields: Fields, *, environment: str, root: Path) -> tuple[Endpoint, ...]:
    tables = fields.tables("endpoints")
    if not tables:
        raise fields.error("endpoints", "1 or more needed, by key; the shipped environments call theirs 'scoring'")
    for key in tables:
        if key in RESERVED_KEYS:
            raise SettingsError(
                f"{fields.where}: endpoints.{key}: the key of another stack; any but {', '.join(RESERVED_KEYS)} allowed"
            )
        if not _ENDPOINT_KEY.fullmatch(key):
            raise SettingsError(
                f"{fields.where}: endpoints: the key {key!r} given; it names stack and endpoint: 1 to 20 of a-z and"
                " 0-9, a letter first, needed"
            )
    return tuple(
        endpoint_from(table, key=key, name=f"decision-{environment}-{key}", root=root) for key, table in tables.items()
    )
