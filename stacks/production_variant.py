"""The one variant of an endpoint: on what it runs and how long it may take to start. Pure."""

from __future__ import annotations

from aws_cdk import aws_sagemaker as sagemaker

from stacks.settings import FixedInstances, HostedEndpoint, InstancePools

VARIANT_NAME = "AllTraffic"
# The AWS CUDA image is built on CUDA 13: this host image has a driver for it.
_GPU_HOST_IMAGE = "al2023-ami-sagemaker-inference-gpu-4-1"


def production_variant(
    settings: HostedEndpoint, *, model_name: str
) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
    """It takes all traffic. Pools and a fixed instance type exclude each other."""
    instance_type: str | None = None
    pools: list[sagemaker.CfnEndpointConfig.InstancePoolProperty] | None = None
    provision_timeout: int | None = None
    match settings.instances:
        case FixedInstances():
            instance_type = settings.instances.instance_type
        case InstancePools():
            provision_timeout = settings.instances.provision_timeout_seconds
            pools = [
                sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=each, priority=priority)
                for priority, each in enumerate(settings.instances.instance_types, start=1)
            ]
    return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name=VARIANT_NAME,
        model_name=model_name,
        initial_instance_count=settings.instances.count,
        initial_variant_weight=1,
        instance_type=instance_type,
        instance_pools=pools,
        variant_instance_provision_timeout_in_seconds=provision_timeout,
        inference_ami_version=_GPU_HOST_IMAGE if settings.target == "cuda" else None,
        model_data_download_timeout_in_seconds=settings.model_download_timeout_seconds,
        container_startup_health_check_timeout_in_seconds=settings.startup_timeout_seconds,
        # One request at a time runs in a container: the instance with the fewest waiting answers first.
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(routing_strategy="LEAST_OUTSTANDING_REQUESTS"),
    )
