"""AWS::Budgets::Budget: other notifications or another name make a new one, all else changes in place."""

from __future__ import annotations

import secrets
from typing import Any

from local.emulator import api_shapes, host_monitoring
from local.emulator.host import Created, Properties, ResourceType, current_scope, register_resource_type


def register() -> None:
    budget = ResourceType(
        create=_create, update=_update, delete=_delete, replacing=("NotificationsWithSubscribers",), taggable=False
    )
    register_resource_type("AWS::Budgets::Budget", budget)


def _request(operation: str, properties: Properties) -> dict[str, Any]:
    shape = api_shapes.service_model("budgets").operation_model(operation).input_shape
    if shape is None:
        raise SystemExit(f"botocore's model of Budgets has no {operation}")
    request: dict[str, Any] = api_shapes.coerced({**properties, "AccountId": current_scope().account}, shape)
    api_shapes.check(request, shape)
    return request


def _create(logical_id: str, properties: Properties, stack: str) -> Created:
    given = properties.get("Budget") or {}
    name = given.get("BudgetName") or f"{logical_id}-{secrets.token_hex(6)}"
    host_monitoring.budgets_call(
        "create", _request("CreateBudget", {**properties, "Budget": {**given, "BudgetName": name}})
    )
    return name, {}


def _update(physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
    wanted = new["Budget"].get("BudgetName") or physical_id
    if wanted != physical_id:
        created = _create(physical_id, new, stack)
        _delete(physical_id, old)
        return created
    budget = {**new["Budget"], "BudgetName": physical_id}
    host_monitoring.budgets_call("update", _request("UpdateBudget", {"NewBudget": budget}))
    host_monitoring.tag_budget(physical_id, new.get("ResourceTags", []))
    return physical_id, {}


def _delete(physical_id: str, properties: Properties) -> None:
    if host_monitoring.budget_exists(physical_id):
        host_monitoring.budgets_call("delete", {"AccountId": current_scope().account, "BudgetName": physical_id})
