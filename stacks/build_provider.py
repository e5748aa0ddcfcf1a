"""The provider behind the custom resource that runs a build: starts it, waits for it, hands back its result."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources
from constructs import Construct

from stacks import permissions

_HANDLER = Path(__file__).parent / "build_run_handler"


class BuildProvider(Construct):
    """Exposes `service_token`."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bucket_name: str,
        bucket_arn: str,
        repository_name: str,
        repository_arn: str,
        project_arns: list[str],
        build_log_group_arns: list[str],
        log_group: logs.ILogGroup,
    ) -> None:
        super().__init__(scope, id_)
        role = permissions.build_run_role(
            self,
            "HandlerRole",
            bucket_arn=bucket_arn,
            repository_arn=repository_arn,
            project_arns=project_arns,
            build_log_group_arns=build_log_group_arns,
            log_group=log_group,
        )

        def function(id_: str, entry: str, description: str) -> lambda_.Function:
            return lambda_.Function(
                self,
                id_,
                description=description,
                runtime=lambda_.Runtime.PYTHON_3_13,
                code=lambda_.Code.from_asset(str(_HANDLER), exclude=["**/__pycache__", "**/*.pyc"]),
                handler=entry,
                role=role.without_policy_updates(),
                log_group=log_group,
                memory_size=256,
                timeout=Duration.minutes(1),
                environment={"ARTIFACT_BUCKET": bucket_name, "REPOSITORY_NAME": repository_name},
            )

        provider = custom_resources.Provider(
            self,
            "Provider",
            on_event_handler=function(
                "OnEvent", "handler.on_event", "Starts a build, unless its result exists already"
            ),
            is_complete_handler=function("IsComplete", "handler.is_complete", "Waits for a build and reads its result"),
            query_interval=Duration.seconds(5),
            total_timeout=Duration.hours(1),  # CloudFormation's own limit
            log_group=log_group,
            framework_on_event_role=permissions.lambda_role(self, "FrameworkOnEventRole", log_group=log_group),
            framework_complete_and_timeout_role=permissions.lambda_role(self, "FrameworkWaitRole", log_group=log_group),
            disable_waiter_state_machine_logging=True,  # its log delivery rights need a `*` resource
        )
        self.service_token = provider.service_token
