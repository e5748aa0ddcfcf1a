"""SageMaker as an HTTP service: which operation a request asks for, one control plane for each account and region."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from local.emulator import api_shapes, async_invocations, data_capture, response_stream, runtime_front
from local.emulator.aws_errors import AwsError, Response, Streamed, ok
from local.emulator.control_plane import ControlPlane
from local.emulator.data_capture import PutObject
from local.emulator.host import HttpRequest, current_scope
from local.emulator.scope import Scope

SERVICE = "sagemaker"
PATTERNS = {"target_prefixes": ["SageMaker"], "host_patterns": [r"sagemaker\."], "credential_scope": "sagemaker"}
Operation = Callable[[ControlPlane, dict[str, Any]], dict[str, Any]]
OPERATIONS: dict[str, Operation] = {
    "CreateModel": ControlPlane.create_model,
    "DescribeModel": ControlPlane.describe_model,
    "DeleteModel": ControlPlane.delete_model,
    "ListModels": ControlPlane.list_models,
    "CreateEndpointConfig": ControlPlane.create_endpoint_config,
    "DescribeEndpointConfig": ControlPlane.describe_endpoint_config,
    "DeleteEndpointConfig": ControlPlane.delete_endpoint_config,
    "ListEndpointConfigs": ControlPlane.list_endpoint_configs,
    "CreateEndpoint": ControlPlane.create_endpoint,
    "UpdateEndpoint": ControlPlane.update_endpoint,
    "UpdateEndpointWeightsAndCapacities": ControlPlane.update_weights_and_capacities,
    "DescribeEndpoint": ControlPlane.describe_endpoint,
    "DeleteEndpoint": ControlPlane.delete_endpoint,
    "ListEndpoints": ControlPlane.list_endpoints,
    "CreateTransformJob": ControlPlane.create_transform_job,
    "DescribeTransformJob": lambda plane, request: plane.transforms.describe(request),
    "StopTransformJob": lambda plane, request: plane.transforms.stop(request),
    "ListTransformJobs": lambda plane, request: plane.transforms.list(request),
    "ListTags": ControlPlane.list_tags,
}


class SageMakerService:
    def __init__(self, new_plane: Callable[[Scope], ControlPlane], *, put_object: PutObject) -> None:
        self._new_plane, self._put_object = new_plane, put_object
        self._planes: dict[Scope, ControlPlane] = {}
        self._lock = threading.Lock()
        self._model = api_shapes.service_model(SERVICE)

    def plane(self) -> ControlPlane:
        """The control plane of the request or stack operation that runs in this thread."""
        scope = current_scope()
        with self._lock:
            if scope not in self._planes:
                self._planes[scope] = self._new_plane(scope)
            return self._planes[scope]

    def answer(self, request: HttpRequest) -> Response | Streamed:
        path = request.path
        if found := runtime_front.INVOCATION_PATH.fullmatch(path):
            plane, name = self.plane(), unquote(found["name"])
            if plane.endpoints.serving(name)[0] and plane.async_config(name):
                raise AwsError("ValidationError", f"Endpoint {name} is asynchronous; use InvokeEndpointAsync.")
            answer = runtime_front.invoke(
                plane.scope, name, request.headers, request.body, find=plane.endpoints.serving
            )
            data_capture.capture(
                plane.capture_config(name),
                endpoint=name,
                request=(request.headers, request.body),
                answer=answer,
                put=self._put_object,
            )
            return answer
        if found := async_invocations.INVOCATION_PATH.fullmatch(path):
            plane, name = self.plane(), unquote(found["name"])
            known = plane.endpoints.serving(name)[0] is not None
            return plane.queue.invoke(name, request.headers, request.body, plane.async_config(name) if known else None)
        if found := response_stream.INVOCATION_PATH.fullmatch(path):
            plane = self.plane()
            name = unquote(found["name"])
            return response_stream.invoke(
                plane.scope, name, request.headers, request.body, find=plane.endpoints.serving
            )
        name = request.headers.get("x-amz-target", "").rpartition(".")[2]
        if name not in OPERATIONS:
            raise AwsError("UnknownOperationException", f"{name or path} is not emulated.")
        try:
            parameters = json.loads(request.body or b"{}")
        except ValueError as error:
            raise AwsError("SerializationException", "The request's body is not JSON.") from error
        return ok(self.call(name, parameters))

    def call(self, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Raises AwsError."""
        shape = self._model.operation_model(name).input_shape
        if shape is not None:
            api_shapes.check(parameters, shape)
        return OPERATIONS[name](self.plane(), parameters)

    def coerced(self, name: str, properties: dict[str, Any]) -> dict[str, Any]:
        """A template's properties as the operation's parameters."""
        shape = self._model.operation_model(name).input_shape
        result: dict[str, Any] = api_shapes.coerced(properties, shape) if shape is not None else properties
        return result

    def close(self) -> None:
        with self._lock:
            planes, self._planes = list(self._planes.values()), {}
        for plane in planes:
            plane.queue.close()
            plane.transforms.close()
            plane.endpoints.close()
