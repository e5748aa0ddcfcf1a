"""How things are built: two CodeBuild projects, and the provider that runs one and waits.

Knows not what is deployed from the results.
"""

from __future__ import annotations

from aws_cdk import ArnFormat, DefaultStackSynthesizer, Environment, Fn, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks import permissions
from stacks.artifact_store import ArtifactStore
from stacks.build_provider import BuildProvider
from stacks.container_build import ContainerBuild
from stacks.model_build import ModelBuild


class BuildStack(Stack):
    """Exposes the projects' names and the provider's token.

    Nothing here changes when a source or a declaration does: CloudFormation refuses to change an export in use, so only
    stable values may cross to the stack that runs the builds.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        env: Environment,
        store: ArtifactStore,
        data_key_arn: str | None,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(
            scope, id_, env=env, description="Decision endpoint: builds of the model archive and the container image"
        )
        bucket, repository = store.bucket, store.repository
        sources = permissions.asset_objects_arn(_asset_bucket_name(self))

        key = kms.Key.from_key_arn(self, "DataKey", data_key_arn) if data_key_arn else None

        def log_group(id_: str) -> logs.LogGroup:
            return logs.LogGroup(
                self, id_, retention=log_retention, encryption_key=key, removal_policy=RemovalPolicy.DESTROY
            )

        model_log, image_log = log_group("ModelBuildLog"), log_group("ImageBuildLog")
        model = ModelBuild(
            self,
            "ModelBuild",
            bucket=bucket,
            role=permissions.model_build_role(
                self,
                "ModelBuildRole",
                bucket_arn=bucket.bucket_arn,
                sources_arn=sources,
                log_group=model_log,
                data_key_arn=data_key_arn,
            ),
            log_group=model_log,
        )
        image = ContainerBuild(
            self,
            "ImageBuild",
            bucket=bucket,
            repository=repository,
            role=permissions.image_build_role(
                self,
                "ImageBuildRole",
                bucket_arn=bucket.bucket_arn,
                repository_arn=repository.repository_arn,
                sources_arn=sources,
                log_group=image_log,
                data_key_arn=data_key_arn,
            ),
            log_group=image_log,
        )
        provider = BuildProvider(
            self,
            "BuildRun",
            bucket=bucket,
            repository=repository,
            project_arns=[model.project.project_arn, image.project.project_arn],
            build_log_streams_arns=[_streams_arn(model_log), _streams_arn(image_log)],
            log_group=log_group("BuildRunLog"),
            data_key_arn=data_key_arn,
        )
        self.model_project_name = model.project.project_name
        self.image_project_name = image.project.project_name
        self.service_token = provider.service_token


def _asset_bucket_name(stack: Stack) -> str:
    """Where the CLI uploads a build's source: the bucket of `cdk bootstrap` with this app's qualifier."""
    qualifier = stack.synthesizer.bootstrap_qualifier or DefaultStackSynthesizer.DEFAULT_QUALIFIER
    return Fn.sub(DefaultStackSynthesizer.DEFAULT_FILE_ASSETS_BUCKET_NAME.replace("${Qualifier}", qualifier))


def _streams_arn(log_group: logs.LogGroup) -> str:
    """All streams of one log group. The group's own ARN attribute ends in ":*", which cannot be continued."""
    return Stack.of(log_group).format_arn(
        service="logs",
        resource="log-group",
        resource_name=f"{log_group.log_group_name}:log-stream:*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
