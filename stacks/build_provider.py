"""The provider behind the custom resource that runs a build: starts it, waits for it, hands back its result."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration, IgnoreMode, custom_resources
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks import permissions

_HERE = Path(__file__).parent
# The package build_run_handler and nothing beside it: the functions run without the CDK.
_ALL_BUT_THE_HANDLER = ["/*", "!/build_run_handler", "__pycache__", "*.pyc"]


class BuildProvider(Construct):
    """Exposes `service_token`."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bucket: s3.IBucket,
        repository: ecr.IRepository,
        project_arns: list[str],
        build_log_streams_arns: list[str],
        log_group: logs.ILogGroup,
    ) -> None:
        super().__init__(scope, id_)
        role = permissions.build_run_role(
            self,
            "HandlerRole",
            bucket_arn=bucket.bucket_arn,
            repository_arn=repository.repository_arn,
            project_arns=project_arns,
            build_log_streams_arns=build_log_streams_arns,
            log_group=log_group,
        )

        def function(id_: str, entry: str, description: str) -> lambda_.Function:
            return lambda_.Function(
                self,
                id_,
                description=description,
                runtime=lambda_.Runtime.PYTHON_3_13,
                code=lambda_.Code.from_asset(str(_HERE), exclude=_ALL_BUT_THE_HANDLER, ignore_mode=IgnoreMode.GIT),
                handler=entry,
                role=role.without_policy_updates(),
                log_group=log_group,
                memory_size=256,
                timeout=Duration.minutes(1),
                environment={"ARTIFACT_BUCKET": bucket.bucket_name, "REPOSITORY_NAME": repository.repository_name},
            )

        provider = custom_resources.Provider(
            self,
            "Provider",
            on_event_handler=function(
                "OnEvent", "build_run_handler.handler.on_event", "Starts a build, unless its result exists"
            ),
            is_complete_handler=function(
                "IsComplete", "build_run_handler.handler.is_complete", "Watches a build, reads its result"
            ),
            query_interval=Duration.seconds(5),
            total_timeout=Duration.hours(1),  # CloudFormation's own limit; a build ends before it
            log_group=log_group,
            # Roles of our own: the construct's have AWS's basic execution policy, which may write to every log group.
            framework_on_event_role=permissions.lambda_role(self, "FrameworkStartRole", log_group=log_group),
            framework_complete_and_timeout_role=permissions.lambda_role(self, "FrameworkWaitRole", log_group=log_group),
            disable_waiter_state_machine_logging=True,  # the rights to deliver its log need a `*` resource
        )
        self.service_token = provider.service_token
