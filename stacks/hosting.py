"""SageMaker Model, EndpointConfig and Endpoint. Knows not where image and model come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from stacks.instance_types import Processor
from stacks.settings import FixedInstances, InstancePools, Instances

VARIANT_NAME = "AllTraffic"
# The AWS CUDA image is built on CUDA 13: this host image has a driver for it.
_GPU_HOST_IMAGE = "al2023-ami-sagemaker-inference-gpu-4-1"


@dataclass(frozen=True, kw_only=True)
class HostingPlan:
    """On what the endpoint runs, and how long it may take to start there."""

    instances: Instances
    processor: Processor
    model_download_timeout_seconds: int
    startup_timeout_seconds: int


def production_variant(plan: HostingPlan, *, model_name: str) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
    """One variant that takes all traffic. Pools and a fixed instance type exclude each other."""
    instance_type: str | None = None
    pools: list[sagemaker.CfnEndpointConfig.InstancePoolProperty] | None = None
    provision_timeout: int | None = None
    match plan.instances:
        case FixedInstances():
            instance_type = plan.instances.instance_type
        case InstancePools():
            provision_timeout = plan.instances.provision_timeout_seconds
            pools = [
                sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=each, priority=priority)
                for priority, each in enumerate(plan.instances.instance_types, start=1)
            ]
    return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name=VARIANT_NAME,
        model_name=model_name,
        initial_instance_count=plan.instances.count,
        initial_variant_weight=1,
        instance_type=instance_type,
        instance_pools=pools,
        variant_instance_provision_timeout_in_seconds=provision_timeout,
        inference_ami_version=_GPU_HOST_IMAGE if plan.processor == "cuda" else None,
        model_data_download_timeout_in_seconds=plan.model_download_timeout_seconds,
        container_startup_health_check_timeout_in_seconds=plan.startup_timeout_seconds,
        # One request at a time runs in a container: the instance with the fewest waiting answers first.
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(routing_strategy="LEAST_OUTSTANDING_REQUESTS"),
    )


class Hosting(Construct):
    """Exposes `endpoint`. Model and EndpointConfig have generated names: every change replaces both and *updates* the
    endpoint, which keeps its name and goes on answering meanwhile."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        endpoint_name: str,
        image_uri: str,
        model_data_url: str,
        environment: Mapping[str, str],
        plan: HostingPlan,
        role: iam.Role,
    ) -> None:
        super().__init__(scope, id_)
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image_uri, model_data_url=model_data_url, environment=dict(environment)
            ),
        )
        # The role alone is not enough: SageMaker reads model data and image with the rights of its policy.
        model.node.add_dependency(role.node.find_child("DefaultPolicy"))
        config = sagemaker.CfnEndpointConfig(
            self, "EndpointConfig", production_variants=[production_variant(plan, model_name=model.attr_model_name)]
        )
        self.endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=endpoint_name,
            endpoint_config_name=config.attr_endpoint_config_name,
            # The new fleet answers before the old one goes; a fleet that does not get well never takes traffic.
            deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
                blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                    traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                        type="ALL_AT_ONCE",
                        wait_interval_in_seconds=0,  # the API wants it, even so
                    ),
                    termination_wait_in_seconds=60,
                )
            ),
        )
