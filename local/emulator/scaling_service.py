"""Application Auto Scaling as an HTTP service: which operation a request asks for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from local.emulator import api_shapes
from local.emulator.aws_errors import AwsError, Response, ok
from local.emulator.host import HttpRequest
from local.emulator.scaling_registry import ScalingRegistry

SERVICE = "application-autoscaling"
PATTERNS = {
    "target_prefixes": ["AnyScaleFrontendService"],
    "host_patterns": [r"application-autoscaling\."],
    "credential_scope": "application-autoscaling",
}
Operation = Callable[[ScalingRegistry, dict[str, Any]], dict[str, Any]]
OPERATIONS: dict[str, Operation] = {
    "RegisterScalableTarget": ScalingRegistry.register,
    "DeregisterScalableTarget": ScalingRegistry.deregister,
    "DescribeScalableTargets": ScalingRegistry.describe_targets,
    "PutScalingPolicy": ScalingRegistry.put_policy,
    "DeleteScalingPolicy": ScalingRegistry.delete_policy,
    "DescribeScalingPolicies": ScalingRegistry.describe_policies,
}


class ScalingService:
    """registry: that of the account and region of the request that runs in this thread."""

    def __init__(self, registry: Callable[[], ScalingRegistry]) -> None:
        self._registry = registry
        self._model = api_shapes.service_model(SERVICE)

    def answer(self, request: HttpRequest) -> Response:
        name = request.headers.get("x-amz-target", "").rpartition(".")[2]
        if name not in OPERATIONS:
            raise AwsError("UnknownOperationException", f"{name or request.path} is not emulated.")
        return ok(self.call(name, json.loads(request.body or b"{}")))

    def call(self, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Raises AwsError."""
        shape = self._model.operation_model(name).input_shape
        if shape is not None:
            api_shapes.check(parameters, shape)
        return OPERATIONS[name](self._registry(), parameters)

    def call_coerced(self, name: str, properties: dict[str, Any]) -> dict[str, Any]:
        """With a template's properties as parameters. Raises AwsError, for unknown ones too."""
        shape = self._model.operation_model(name).input_shape
        return self.call(name, api_shapes.coerced(properties, shape) if shape is not None else properties)
