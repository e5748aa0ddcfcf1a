"""SageMaker Model, EndpointConfig and Endpoint. Knows not where image and model come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from stacks.endpoint_objects import CAPTURE_ROOT, EndpointObjects
from stacks.model_data import ModelData, container_definition
from stacks.network import VpcAccess
from stacks.production_variant import production_variant
from stacks.settings import Asynchronous, DataCapture, HostedEndpoint, Keys, RealTime
from stacks.updates import deployment_config


class Hosting(Construct):
    """Exposes `model` and `endpoint`. Model and EndpointConfig have generated names: every change replaces both and
    *updates* the endpoint, which keeps its name and goes on answering meanwhile.

    model_data: None where the container downloads the model itself; it must not be `isolated` then.
    isolated: the container has no network at all; SageMaker brings image, model and requests to it.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        settings: HostedEndpoint,
        image_uri: str,
        model_data: ModelData | None,
        environment: Mapping[str, str],
        isolated: bool,
        vpc: VpcAccess | None,
        keys: Keys,
        bucket_name: str,
        objects: EndpointObjects,
        rollback_alarm_names: Sequence[str],
        role: iam.Role,
    ) -> None:
        super().__init__(scope, id_)
        if isolated and model_data is None:
            raise ValueError(f"{self.node.path}: isolated without model_data: nothing could bring the model")
        self.model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            enable_network_isolation=isolated,
            vpc_config=None if vpc is None else _place_in(vpc),
            primary_container=container_definition(image_uri, model_data, dict(environment)),
        )
        # The role alone is not enough: SageMaker reads model data and image with the rights of its policy.
        self.model.node.add_dependency(role.node.find_child("DefaultPolicy"))
        config = sagemaker.CfnEndpointConfig(
            self,
            "EndpointConfig",
            production_variants=[production_variant(settings, model_name=self.model.attr_model_name)],
            async_inference_config=_asynchronous(settings.invocation, bucket_name, objects, keys),
            data_capture_config=_capture(settings.capture, bucket_name, keys),
            kms_key_id=keys.volume,
        )
        self.endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=settings.name,
            endpoint_config_name=config.attr_endpoint_config_name,
            deployment_config=deployment_config(settings.update, rollback_alarm_names=rollback_alarm_names),
            # An update must not put back the count that scaling chose since. The API has no other such property here.
            retain_all_variant_properties=True if settings.scaling else None,
        )


def _place_in(vpc: VpcAccess) -> sagemaker.CfnModel.VpcConfigProperty:
    return sagemaker.CfnModel.VpcConfigProperty(subnets=vpc.subnet_ids, security_group_ids=vpc.security_group_ids)


def _asynchronous(
    invocation: RealTime | Asynchronous, bucket_name: str, objects: EndpointObjects, keys: Keys
) -> sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty | None:
    match invocation:
        case RealTime():
            return None
        case Asynchronous(max_concurrent_invocations_per_instance=most):
            return sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty(
                client_config=sagemaker.CfnEndpointConfig.AsyncInferenceClientConfigProperty(
                    max_concurrent_invocations_per_instance=most
                ),
                output_config=sagemaker.CfnEndpointConfig.AsyncInferenceOutputConfigProperty(
                    s3_output_path=f"s3://{bucket_name}/{objects.async_output}",
                    s3_failure_path=f"s3://{bucket_name}/{objects.async_failures}",
                    kms_key_id=keys.data,
                ),
            )


def _capture(
    capture: DataCapture | None, bucket_name: str, keys: Keys
) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None:
    if capture is None:
        return None
    return sagemaker.CfnEndpointConfig.DataCaptureConfigProperty(
        enable_capture=True,
        initial_sampling_percentage=capture.sampling_percent,
        destination_s3_uri=f"s3://{bucket_name}/{CAPTURE_ROOT}",
        kms_key_id=keys.data,
        capture_options=[
            sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode=each) for each in ("Input", "Output")
        ],
        # As text in the captured lines; without it SageMaker writes base64.
        capture_content_type_header=sagemaker.CfnEndpointConfig.CaptureContentTypeHeaderProperty(
            json_content_types=["application/json"]
        ),
    )
