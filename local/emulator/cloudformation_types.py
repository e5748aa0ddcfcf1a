"""AWS::SageMaker::Model, ::EndpointConfig and ::Endpoint, with the update behaviour that their documentation states.

Model and EndpointConfig are replaced by any change; an Endpoint changes its configuration in place. `Ref` gives the
ARN.
"""

from __future__ import annotations

import functools
from typing import Any

from local.emulator.aws_errors import AwsError, validation
from local.emulator.host import Created, Properties, ResourceType, generated_name, register_resource_type
from local.emulator.sagemaker_service import SageMakerService

MODEL_PROPERTIES = (
    "ModelName", "ExecutionRoleArn", "PrimaryContainer", "Containers", "VpcConfig", "EnableNetworkIsolation",
    "InferenceExecutionConfig",
)  # fmt: skip
CONFIG_PROPERTIES = (
    "EndpointConfigName", "ProductionVariants", "ShadowProductionVariants", "DataCaptureConfig", "KmsKeyId",
    "AsyncInferenceConfig", "ExplainerConfig", "ExecutionRoleArn", "VpcConfig", "EnableNetworkIsolation",
)  # fmt: skip


def register(service: SageMakerService) -> None:
    model = ResourceType(
        create=functools.partial(_create, service, "Model"),
        update=_in_place_tags,
        delete=functools.partial(_delete, service, "Model"),
        replacing=MODEL_PROPERTIES,
        name_property="ModelName",
        taggable=True,
    )
    config = ResourceType(
        create=functools.partial(_create, service, "EndpointConfig"),
        update=_in_place_tags,
        delete=functools.partial(_delete, service, "EndpointConfig"),
        replacing=CONFIG_PROPERTIES,
        name_property="EndpointConfigName",
        taggable=True,
    )
    endpoint = ResourceType(
        create=functools.partial(_create_endpoint, service),
        update=functools.partial(_update_endpoint, service),
        delete=functools.partial(_delete_endpoint, service),
        replacing=("EndpointName",),
        name_property="EndpointName",
        taggable=True,
    )
    register_resource_type("AWS::SageMaker::Model", model)
    register_resource_type("AWS::SageMaker::EndpointConfig", config)
    register_resource_type("AWS::SageMaker::Endpoint", endpoint)


def _create(service: SageMakerService, kind: str, logical_id: str, properties: Properties, stack: str) -> Created:
    key = f"{kind}Name"
    name = properties.get(key) or generated_name(stack, logical_id)
    answer = service.call(f"Create{kind}", service.coerced(f"Create{kind}", {**properties, key: name}))
    return str(answer[f"{kind}Arn"]), {key: name}


def _in_place_tags(physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
    """Only tags change without a replacement."""
    return physical_id, {}


def _delete(service: SageMakerService, kind: str, physical_id: str, properties: Properties) -> None:
    _unless_gone(service, f"Delete{kind}", {f"{kind}Name": _name(physical_id)})


def _create_endpoint(service: SageMakerService, logical_id: str, properties: Properties, stack: str) -> Created:
    physical_id, attributes = _create_started(service, logical_id, properties, stack)
    name = _name(physical_id)
    record = service.plane().endpoints.await_settled(name)
    if record is None or record.status != "InService":
        reason = record.failure_reason if record else "it was deleted meanwhile"
        # CloudFormation deletes what it could not bring up.
        _delete_endpoint(service, physical_id, properties)
        raise validation(f'Endpoint "{physical_id}" did not stabilize. {reason}')
    return physical_id, attributes


def _create_started(service: SageMakerService, logical_id: str, properties: Properties, stack: str) -> Created:
    name = properties.get("EndpointName") or generated_name(stack, logical_id)
    # Properties that steer an update are no parameters of CreateEndpoint.
    wanted = ("EndpointConfigName", "Tags", "DeploymentConfig")
    parameters: dict[str, Any] = {key: properties[key] for key in wanted if key in properties}
    answer = service.call("CreateEndpoint", service.coerced("CreateEndpoint", {**parameters, "EndpointName": name}))
    return str(answer["EndpointArn"]), {"EndpointName": name}


def _update_endpoint(
    service: SageMakerService, physical_id: str, old: Properties, new: Properties, stack: str
) -> Created:
    name = _name(physical_id)
    if old.get("EndpointConfigName") == new.get("EndpointConfigName"):
        return physical_id, {"EndpointName": name}  # only how a later update is carried out has changed
    steering = (
        "EndpointConfigName",
        "DeploymentConfig",
        "RetainAllVariantProperties",
        "ExcludeRetainedVariantProperties",
    )
    parameters: dict[str, Any] = {key: new[key] for key in steering if key in new}
    service.call("UpdateEndpoint", service.coerced("UpdateEndpoint", {**parameters, "EndpointName": name}))
    record = service.plane().endpoints.await_settled(name)
    if record is None or record.status != "InService" or record.failure_reason:
        reason = record.failure_reason if record else "it was deleted meanwhile"
        raise validation(f'Endpoint "{physical_id}" could not be updated and keeps its former configuration. {reason}')
    return physical_id, {"EndpointName": name}


def _delete_endpoint(service: SageMakerService, physical_id: str, properties: Properties) -> None:
    name = _name(physical_id)
    service.plane().endpoints.await_settled(name)
    _unless_gone(service, "DeleteEndpoint", {"EndpointName": name})
    service.plane().endpoints.await_settled(name)


def _unless_gone(service: SageMakerService, operation: str, parameters: Properties) -> None:
    try:
        service.call(operation, parameters)
    except AwsError as error:
        if not error.message.startswith("Could not find"):
            raise


def _name(arn_or_name: str) -> str:
    return arn_or_name.rpartition("/")[2]
