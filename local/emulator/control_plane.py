"""SageMaker's models, endpoint configurations and endpoints of one account and region.

Requests arrive checked against AWS's model of the API (`api_shapes`); the rules that model cannot say are checked
here. What a container is, and how an endpoint comes up, is `endpoints`' business.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from local.emulator import ecr_images, variants
from local.emulator.async_invocations import AsyncInvocations
from local.emulator.aws_errors import validation
from local.emulator.deployments import deployment
from local.emulator.descriptions import described
from local.emulator.ecr_images import ResolveImage
from local.emulator.endpoints import EndpointManager
from local.emulator.records import EndpointConfigRecord, EndpointRecord, ModelRecord, VariantPlan
from local.emulator.scaling_registry import Scalable, ScalingRegistry
from local.emulator.scope import Scope
from local.emulator.transform_jobs import TransformJobs

T = TypeVar("T")
ObjectExists = Callable[[str], bool]


class ControlPlane:
    def __init__(
        self,
        scope: Scope,
        *,
        endpoints: EndpointManager,
        transforms: TransformJobs,
        queue: AsyncInvocations,
        resolve_image: ResolveImage,
        object_exists: ObjectExists,
    ) -> None:
        self.scope = scope
        self.scaling = ScalingRegistry(scope, find=self._scalable, set_count=self._set_count)
        self.endpoints, self.transforms, self.queue = endpoints, transforms, queue
        self._resolve_image, self._object_exists = resolve_image, object_exists
        self._lock = threading.RLock()
        self._models: dict[str, ModelRecord] = {}
        self._configs: dict[str, EndpointConfigRecord] = {}

    # --- models

    def create_model(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["ModelName"]
        arn = self.scope.sagemaker_arn("model", name)
        container = request.get("PrimaryContainer")
        if container is None or request.get("Containers"):
            raise validation("This emulator serves models of one PrimaryContainer; Containers is not supported.")
        if not request.get("ExecutionRoleArn"):
            raise validation("ExecutionRoleArn is required for a model with a PrimaryContainer.")
        image = ecr_images.by_digest(container.get("Image", ""), self._resolve_image)
        self._check_model_data(container)
        with self._lock:
            if name in self._models:
                raise validation(f'Cannot create already existing model "{arn}".')
            self._models[name] = ModelRecord(
                name=name, arn=arn, request=request, resolved_image=image, created=time.time()
            )
        return {"ModelArn": arn}

    def _check_model_data(self, container: dict[str, Any]) -> None:
        url = variants.model_data_url(container)
        if url and not self._object_exists(url):
            raise validation(
                f"Could not access model data at {url}. Please ensure that the role exists, that its policies allow "
                f"s3:GetObject and that the object is located in {self.scope.region}."
            )

    def describe_model(self, request: dict[str, Any]) -> dict[str, Any]:
        model = self._model(request["ModelName"])
        return {**_without(model.request, "Tags"), "ModelArn": model.arn, "CreationTime": model.created}

    def delete_model(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            del self._models[self._model(request["ModelName"]).name]
        return {}

    def list_models(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            models = [
                {"ModelName": model.name, "ModelArn": model.arn, "CreationTime": model.created}
                for model in self._models.values()
                if request.get("NameContains", "") in model.name
            ]
        return {"Models": models}

    def _model(self, name: str) -> ModelRecord:
        with self._lock:
            return _found(self._models, name, "model", self.scope.sagemaker_arn("model", name))

    # --- endpoint configurations

    def create_endpoint_config(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["EndpointConfigName"]
        arn = self.scope.sagemaker_arn("endpoint-config", name)
        names = [variant["VariantName"] for variant in request["ProductionVariants"]]
        if len(set(names)) != len(names):
            raise validation(f"Production variant names must be unique; got {', '.join(names)}.")
        for variant in request["ProductionVariants"]:
            variants.check(variant, self._model)
        variants.check_storage_key(request["ProductionVariants"], request.get("KmsKeyId"))
        with self._lock:
            if name in self._configs:
                raise validation(f'Cannot create already existing endpoint configuration "{arn}".')
            self._configs[name] = EndpointConfigRecord(name=name, arn=arn, request=request, created=time.time())
        return {"EndpointConfigArn": arn}

    def describe_endpoint_config(self, request: dict[str, Any]) -> dict[str, Any]:
        config = self._config(request["EndpointConfigName"])
        return {**_without(config.request, "Tags"), "EndpointConfigArn": config.arn, "CreationTime": config.created}

    def delete_endpoint_config(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            del self._configs[self._config(request["EndpointConfigName"]).name]
        return {}

    def list_endpoint_configs(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            configs = [
                {"EndpointConfigName": config.name, "EndpointConfigArn": config.arn, "CreationTime": config.created}
                for config in self._configs.values()
                if request.get("NameContains", "") in config.name
            ]
        return {"EndpointConfigs": configs}

    def _config(self, name: str) -> EndpointConfigRecord:
        with self._lock:
            arn = self.scope.sagemaker_arn("endpoint-config", name)
            return _found(self._configs, name, "endpoint configuration", arn)

    # --- endpoints

    def create_endpoint(self, request: dict[str, Any]) -> dict[str, Any]:
        plans = self._plans(request["EndpointConfigName"])
        record = self.endpoints.create(
            request["EndpointName"], request["EndpointConfigName"], plans, request.get("Tags", [])
        )
        return {"EndpointArn": record.arn}

    def update_endpoint(self, request: dict[str, Any]) -> dict[str, Any]:
        running = self.endpoints.get(request["EndpointName"])
        plans = self._plans(request["EndpointConfigName"])
        self._check_scaled(running, plans)
        self._check_invocation(running, self._config(request["EndpointConfigName"]))
        if request.get("RetainAllVariantProperties"):
            excluded = {each["VariantPropertyType"] for each in request.get("ExcludeRetainedVariantProperties", [])}
            plans = variants.retained(plans, running.plans, excluded=excluded)
        how = deployment(request.get("DeploymentConfig"), instances=min(plan.instance_count for plan in plans))
        record = self.endpoints.update(running.name, request["EndpointConfigName"], plans, how)
        return {"EndpointArn": record.arn}

    def _check_scaled(self, running: EndpointRecord, plans: list[VariantPlan]) -> None:
        """Raises AwsError for a variant that is a scalable target and would go, or run on another type."""
        before, after = ({plan.name: plan.instance_type for plan in each} for each in (running.plans, plans))
        for name in sorted(self.scaling.registered(running.name)):
            if after.get(name) != before.get(name):
                raise validation(
                    f"Variant {name} of endpoint {running.name} is registered as a scalable target: it cannot be "
                    f"removed, nor its instance type changed from {before.get(name)} to {after.get(name)}. "
                    "Deregister the scalable target first."
                )

    def _check_invocation(self, running: EndpointRecord, config: EndpointConfigRecord) -> None:
        """Raises AwsError where a real-time endpoint would become an asynchronous one, or the other way round."""
        before, after = (
            bool(each) for each in (self.async_config(running.name), config.request.get("AsyncInferenceConfig"))
        )
        if before != after:
            raise validation(
                f"The AsyncInferenceConfig parameter cannot be {'removed from' if before else 'added to'} this "
                f"endpoint {running.name}. Create a new endpoint for another kind of inference."
            )

    def update_weights_and_capacities(self, request: dict[str, Any]) -> dict[str, Any]:
        record = self.endpoints.get(request["EndpointName"])
        known = {plan.name for plan in record.plans}
        for wanted in request["DesiredWeightsAndCapacities"]:
            if wanted["VariantName"] not in known:
                raise validation(f"Endpoint {record.name} has no variant {wanted['VariantName']}.")
        for wanted in request["DesiredWeightsAndCapacities"]:
            values = {"DesiredInstanceCount": "instance_count", "DesiredWeight": "weight"}
            changes = {field: wanted[key] for key, field in values.items() if key in wanted}
            self.endpoints.set_variant(record.name, wanted["VariantName"], **changes)
        return {"EndpointArn": record.arn}

    def _scalable(self, endpoint: str, variant: str) -> Scalable | None:
        record = self.endpoints.find(endpoint)
        plan = next((plan for plan in record.plans if plan.name == variant), None) if record else None
        if record is None or plan is None or record.status not in ("InService", "Updating"):
            return None
        return Scalable(instance_count=plan.instance_count, asynchronous=self.async_config(endpoint) is not None)

    def _set_count(self, endpoint: str, variant: str, instances: int) -> None:
        self.endpoints.set_variant(endpoint, variant, instance_count=instances)

    def delete_endpoint(self, request: dict[str, Any]) -> dict[str, Any]:
        self.endpoints.delete(request["EndpointName"])
        self.scaling.forget(request["EndpointName"])
        return {}

    def describe_endpoint(self, request: dict[str, Any]) -> dict[str, Any]:
        return described(self.endpoints.get(request["EndpointName"]))

    def list_endpoints(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = request.get("StatusEquals")
        endpoints = [
            {
                "EndpointName": record.name,
                "EndpointArn": record.arn,
                "CreationTime": record.created,
                "LastModifiedTime": record.modified,
                "EndpointStatus": record.status,
            }
            for record in self.endpoints.all()
            if request.get("NameContains", "") in record.name and wanted in (None, record.status)
        ]
        return {"Endpoints": endpoints}

    def async_config(self, endpoint: str) -> dict[str, Any] | None:
        """The AsyncInferenceConfig of the endpoint's present configuration; None for real-time hosting."""
        return self._part_of_config(endpoint, "AsyncInferenceConfig")

    def capture_config(self, endpoint: str) -> dict[str, Any] | None:
        return self._part_of_config(endpoint, "DataCaptureConfig")

    def _part_of_config(self, endpoint: str, part: str) -> dict[str, Any] | None:
        with self._lock:
            config = self._configs.get(self.endpoints.get(endpoint).config_name)
        return config.request.get(part) if config else None

    # --- transform jobs

    def create_transform_job(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.transforms.create(request, self._model)

    def list_tags(self, request: dict[str, Any]) -> dict[str, Any]:
        arn = request["ResourceArn"]
        with self._lock:
            tags = {model.arn: model.request.get("Tags", []) for model in self._models.values()}
            tags |= {config.arn: config.request.get("Tags", []) for config in self._configs.values()}
        tags |= {record.arn: record.tags for record in self.endpoints.all()} | self.transforms.tags()
        if arn not in tags:
            raise validation(f"Could not find resource {arn}.")
        return {"Tags": tags[arn]}

    def _plans(self, config_name: str) -> list[VariantPlan]:
        return [
            variants.plan(variant, self._model) for variant in self._config(config_name).request["ProductionVariants"]
        ]


def _found(store: dict[str, T], name: str, what: str, arn: str) -> T:
    if name not in store:
        raise validation(f'Could not find {what} "{arn}".')
    return store[name]


def _without(request: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != key}
