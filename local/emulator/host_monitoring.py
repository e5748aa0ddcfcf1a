"""ministack's CloudWatch and Budgets where its CloudFormation falls short of ours: alarms on expressions, budgets.

With `host` and `host_builds` the only modules that know ministack's insides; what is relied on is checked in `host`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ministack.services import budgets, cloudwatch  # type: ignore[import-not-found,unused-ignore]
from ministack.services.cloudformation import provisioners  # type: ignore[import-not-found,unused-ignore]

from local.emulator import api_shapes
from local.emulator.aws_errors import validation
from local.emulator.host import Properties, in_scope
from local.emulator.scope import Scope

# Of one metric; an alarm on an expression has them in its queries instead.
_OF_ONE_METRIC = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Dimensions", "Period", "Unit")


def install_alarms() -> None:
    """Alarms with `Metrics` become records; every alarm's properties are checked against AWS's model of the API."""
    own: Callable[[str, Properties], dict[str, Any]] = provisioners._cw_metric_alarm_record
    shape = api_shapes.service_model("cloudwatch").operation_model("PutMetricAlarm").input_shape
    if shape is None:
        raise SystemExit("botocore's model of CloudWatch has no PutMetricAlarm")

    def record(name: str, properties: Properties) -> dict[str, Any]:
        typed = api_shapes.coerced({**properties, "AlarmName": name}, shape)
        api_shapes.check(typed, shape)
        queries = typed.pop("Metrics", None)
        if not queries:
            return own(name, typed)
        if given := [key for key in _OF_ONE_METRIC if key in typed]:
            raise validation(f"Metrics is given; {', '.join(given)} cannot be given with it.")
        if sum(query.get("ReturnData", True) for query in queries) != 1:
            raise validation("Exactly one element of the metrics list should return data.")
        # ministack evaluates the metric of this name only: an expression's alarm changes by SetAlarmState alone.
        alarm = own(name, {**typed, "MetricName": "expression", "Namespace": "expression"})
        for key in _OF_ONE_METRIC:
            alarm.pop(key, None)
        return {**alarm, "Metrics": queries}

    provisioners._cw_metric_alarm_record = record


def alarm_states(scope: Scope, names: list[str]) -> dict[str, str]:
    """OK, ALARM or INSUFFICIENT_DATA, by name; those that do not exist are left out."""

    def states() -> dict[str, str]:
        alarms = {**cloudwatch._alarms, **cloudwatch._composite_alarms}
        return {name: alarms[name]["StateValue"] for name in names if name in alarms}

    found: dict[str, str] = in_scope(scope, states)
    return found


def budgets_call(operation: str, request: dict[str, Any]) -> None:
    """operation: create, update or delete. Raises ValueError with the service's own words."""
    status, _, body = getattr(budgets, f"_{operation}_budget")(request)
    if status >= 400:
        answer = json.loads(body)
        raise ValueError(answer.get("Message") or answer.get("message") or body)


def budget_exists(name: str) -> bool:
    return name in budgets._budgets


def tag_budget(name: str, tags: list[dict[str, str]]) -> None:
    budgets._tags[budgets._budget_arn(name)] = {tag["Key"]: tag["Value"] for tag in tags}
