"""What answers: runs the builds that are needed, then hosts image and model. Knows not how a build works."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Aws, CfnOutput, RemovalPolicy, Stack
from aws_cdk import Environment as AwsEnvironment
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks import permissions
from stacks.artifact_store import ArtifactStore
from stacks.build_run import BuildRun
from stacks.build_stack import BuildStack
from stacks.container_build import image_request
from stacks.hosting import Hosting, HostingPlan
from stacks.model_build import model_request
from stacks.settings import BuiltImage, BuiltModel, DecisionEndpoint, PinnedImage, PinnedModel


class EndpointStack(Stack):
    """The builds run here, beside what uses their results: exported from another stack, a new result could never reach
    an endpoint that imports the old one."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        env: AwsEnvironment,
        endpoint: DecisionEndpoint,
        store: ArtifactStore,
        builds: BuildStack,
        log_retention: logs.RetentionDays,
        root: Path,
    ) -> None:
        super().__init__(
            scope,
            id_,
            env=env,
            description="Decision endpoint: the SageMaker endpoint and what it runs",
        )
        match endpoint.image:
            case BuiltImage():
                run = BuildRun(
                    self,
                    "Image",
                    request=image_request(root, target=endpoint.target),
                    project_name=builds.image_project_name,
                    service_token=builds.service_token,
                )
                image_uri, repository_arn = run.attribute("Uri"), store.repository.repository_arn
            case PinnedImage(uri=image_uri, account=account, region=region, repository=repository):
                repository_arn = self.format_arn(
                    service="ecr", account=account, region=region, resource="repository", resource_name=repository
                )
        match endpoint.model:
            case BuiltModel(declaration=declaration):
                run = BuildRun(
                    self,
                    "ModelArchive",
                    request=model_request(root, declaration=declaration),
                    project_name=builds.model_project_name,
                    service_token=builds.service_token,
                )
                bucket, key, prefix = store.bucket.bucket_name, run.attribute("Key"), "models/"
            case PinnedModel(bucket=bucket, key=key):
                prefix = key[: -len("model.tar.gz")]
        # Made here with a life span, not by SageMaker without one. SageMaker may write to it, and not create it anew.
        log_group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/sagemaker/Endpoints/{endpoint.name}",
            retention=log_retention,
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = permissions.execution_role(
            self,
            "ExecutionRole",
            model_bucket_arn=f"arn:{Aws.PARTITION}:s3:::{bucket}",
            model_prefix=prefix,
            repository_arn=repository_arn,
            log_group=log_group,
        )
        hosting = Hosting(
            self,
            "Hosting",
            endpoint_name=endpoint.name,
            image_uri=image_uri,
            model_data_url=f"s3://{bucket}/{key}",
            environment=dict(endpoint.engine),
            plan=HostingPlan(
                instances=endpoint.instances,
                processor=endpoint.target,
                model_download_timeout_seconds=endpoint.model_download_timeout_seconds,
                startup_timeout_seconds=endpoint.startup_timeout_seconds,
            ),
            role=role,
        )
        hosting.endpoint.node.add_dependency(log_group)  # or its first lines are refused
        CfnOutput(self, "EndpointName", value=hosting.endpoint.attr_endpoint_name, description="For InvokeEndpoint")
        CfnOutput(self, "ImageUri", value=image_uri, description="The container image that answers")
        CfnOutput(self, "ModelDataUrl", value=f"s3://{bucket}/{key}", description="The model archive that answers")
