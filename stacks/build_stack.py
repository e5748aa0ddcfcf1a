"""How things are built: two CodeBuild projects and the provider that runs one and waits. Knows not what is deployed from them."""

from __future__ import annotations

from aws_cdk import DefaultStackSynthesizer, Environment, Fn, RemovalPolicy, Stack
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks import permissions
from stacks.artifact_store import ArtifactStore
from stacks.build_provider import BuildProvider
from stacks.container_build import ContainerBuild
from stacks.model_build import ModelBuild


class BuildStack(Stack):
    """Exposes project names and the provider's token. Nothing here changes when a source or a declaration does: only stable
    values may cross to the stack that runs the builds, CloudFormation refuses to change an export in use."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        stack_name: str,
        env: Environment,
        store: ArtifactStore,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(
            scope,
            id_,
            stack_name=stack_name,
            env=env,
            description="Decision endpoint: builds of model archive and container image",
        )
        bucket, repository = store.bucket, store.repository
        sources = permissions.asset_objects_arn(_asset_bucket_name(self))

        def log_group(id_: str) -> logs.LogGroup:
            return logs.LogGroup(self, id_, retention=log_retention, removal_policy=RemovalPolicy.DESTROY)

        model_log, image_log = log_group("ModelBuildLog"), log_group("ImageBuildLog")
        model = ModelBuild(
            self,
            "ModelBuild",
            role=permissions.model_build_role(
                self, "ModelBuildRole", bucket_arn=bucket.bucket_arn, sources_arn=sources, log_group=model_log
            ),
            log_group=model_log,
            bucket=bucket,
        )
        image = ContainerBuild(
            self,
            "ImageBuild",
            role=permissions.image_build_role(
                self,
                "ImageBuildRole",
                bucket_arn=bucket.bucket_arn,
                repository_arn=repository.repository_arn,
                sources_arn=sources,
                log_group=image_log,
            ),
            log_group=image_log,
            bucket=bucket,
            repository=repository,
        )
        provider = BuildProvider(
            self,
            "BuildRun",
            bucket_name=bucket.bucket_name,
            bucket_arn=bucket.bucket_arn,
            repository_name=repository.repository_name,
            repository_arn=repository.repository_arn,
            project_arns=[model.project.project_arn, image.project.project_arn],
            build_log_group_arns=[_without_star(model_log), _without_star(image_log)],
            log_group=log_group("BuildRunLog"),
        )
        self.model_project_name = model.project.project_name
        self.image_project_name = image.project.project_name
        self.service_token = provider.service_token


def _asset_bucket_name(stack: Stack) -> str:
    """Where the CLI uploads assets of this stack: the default synthesizer's bucket, or the one given to it with its qualifier."""
    qualifier = stack.synthesizer.bootstrap_qualifier or DefaultStackSynthesizer.DEFAULT_QUALIFIER
    name = DefaultStackSynthesizer.DEFAULT_FILE_ASSETS_BUCKET_NAME.replace("${Qualifier}", qualifier)
    return Fn.sub(name)


def _without_star(log_group: logs.LogGroup) -> str:
    """A log group's ARN ends in ":*"; one of its streams is named after the part before that."""
    return Stack.of(log_group).format_arn(
        service="logs", resource="log-group", resource_name=log_group.log_group_name, arn_format=_COLON
    )


from aws_cdk import ArnFormat  # noqa: E402

_COLON = ArnFormat.COLON_RESOURCE_NAME
