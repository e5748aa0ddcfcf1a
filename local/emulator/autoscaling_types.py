"""Application Auto Scaling's two resource types, as records only: one machine has nothing to scale to."""

from __future__ import annotations

from collections.abc import Callable

from local.emulator.host import Created, Properties, ResourceType, current_scope, register_resource_type


def register() -> None:
    register_resource_type("AWS::ApplicationAutoScaling::ScalableTarget", _type(_target_id, _TARGET_IDENTITY))
    register_resource_type("AWS::ApplicationAutoScaling::ScalingPolicy", _type(_policy_id, _POLICY_IDENTITY))


_TARGET_IDENTITY = ("ResourceId", "ScalableDimension", "ServiceNamespace")
_POLICY_IDENTITY = ("PolicyName", "ResourceId", "ScalableDimension", "ServiceNamespace", "ScalingTargetId")


def _target_id(properties: Properties) -> str:
    missing = [name for name in (*_TARGET_IDENTITY, "MinCapacity", "MaxCapacity") if name not in properties]
    if missing:
        raise ValueError(f"AWS::ApplicationAutoScaling::ScalableTarget needs {', '.join(missing)}")
    if int(properties["MinCapacity"]) > int(properties["MaxCapacity"]):
        raise ValueError("Maximum capacity cannot be less than minimum capacity")
    return "|".join(str(properties[name]) for name in _TARGET_IDENTITY)


def _policy_id(properties: Properties) -> str:
    missing = [name for name in ("PolicyName", "PolicyType") if name not in properties]
    if missing:
        raise ValueError(f"AWS::ApplicationAutoScaling::ScalingPolicy needs {', '.join(missing)}")
    scope = current_scope()
    return f"arn:aws:autoscaling:{scope.region}:{scope.account}:scalingPolicy:policyName/{properties['PolicyName']}"


def _type(identify: Callable[[Properties], str], identity: tuple[str, ...]) -> ResourceType:
    def create(logical_id: str, properties: Properties, stack: str) -> Created:
        physical_id = identify(properties)
        return physical_id, {"Id": physical_id, "Arn": physical_id}

    def update(physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
        return physical_id, {"Id": physical_id, "Arn": physical_id}

    def delete(physical_id: str, properties: Properties) -> None:
        """Nothing but the stack's own record exists."""

    return ResourceType(create=create, update=update, delete=delete, replacing=identity)
