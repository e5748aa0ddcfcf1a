"""AWS::ApplicationAutoScaling::ScalableTarget and ::ScalingPolicy."""

from __future__ import annotations

import functools

from local.emulator.aws_errors import AwsError
from local.emulator.host import Created, Properties, ResourceType, register_resource_type
from local.emulator.scaling_service import ScalingService

IDENTITY = ("ServiceNamespace", "ResourceId", "ScalableDimension")


def register(service: ScalingService) -> None:
    target = ResourceType(
        create=functools.partial(_register, service),
        update=lambda physical_id, old, new, stack: _register(service, "", new, stack),
        delete=functools.partial(_deregister, service),
        replacing=IDENTITY,
    )
    policy = ResourceType(
        create=functools.partial(_put_policy, service),
        update=lambda physical_id, old, new, stack: _put_policy(service, "", new, stack),
        delete=functools.partial(_delete_policy, service),
        replacing=("PolicyName", "ScalingTargetId", *IDENTITY),
    )
    register_resource_type("AWS::ApplicationAutoScaling::ScalableTarget", target)
    register_resource_type("AWS::ApplicationAutoScaling::ScalingPolicy", policy)


def _register(service: ScalingService, logical_id: str, properties: Properties, stack: str) -> Created:
    request = dict(properties)
    if "Tags" in request:  # a list in a template, a map in the API
        request["Tags"] = {each["Key"]: each["Value"] for each in request["Tags"]}
    service.call_coerced("RegisterScalableTarget", request)
    # The order of the reference page: resource, dimension, namespace.
    target_id = "|".join(properties[key] for key in ("ResourceId", "ScalableDimension", "ServiceNamespace"))
    return target_id, {"Id": target_id}


def _deregister(service: ScalingService, physical_id: str, properties: Properties) -> None:
    _unless_gone(service, "DeregisterScalableTarget", _of_target(physical_id))


def _put_policy(service: ScalingService, logical_id: str, properties: Properties, stack: str) -> Created:
    answer = service.call_coerced("PutScalingPolicy", _with_identity(properties))
    return answer["PolicyARN"], {"Arn": answer["PolicyARN"]}


def _delete_policy(service: ScalingService, physical_id: str, properties: Properties) -> None:
    identity = {key: value for key, value in _with_identity(properties).items() if key in (*IDENTITY, "PolicyName")}
    _unless_gone(service, "DeleteScalingPolicy", identity)


def _with_identity(properties: Properties) -> Properties:
    """A policy names its target either by id or by the three parts of it."""
    rest = dict(properties)
    target_id = rest.pop("ScalingTargetId", None)
    return rest if target_id is None else {**rest, **_of_target(target_id)}


def _of_target(target_id: str) -> Properties:
    resource, dimension, namespace = target_id.split("|")
    return {"ResourceId": resource, "ScalableDimension": dimension, "ServiceNamespace": namespace}


def _unless_gone(service: ScalingService, operation: str, parameters: Properties) -> None:
    try:
        service.call(operation, parameters)
    except AwsError as error:
        if error.code != "ObjectNotFoundException":
            raise
