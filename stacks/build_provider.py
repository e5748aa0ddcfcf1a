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
from stacks.acknowledgements import acknowledge, acknowledge_wildcards

_HERE = Path(__file__).parent
# The package build_run_handler and nothing beside it: the functions run without the CDK.
_ALL_BUT_THE_HANDLER = ["/*", "!/build_run_handler", "__pycache__", "*.pyc"]

_VERSIONS = "Of this one function, whatever its version is; CDK grants it so"


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
        data_key_arn: str | None,
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
            data_key_arn=data_key_arn,
        )

        def function(id_: str, entry: str, description: str) -> lambda_.Function:
            return lambda_.Function(
                self,
                id_,
                description=description,
                runtime=lambda_.Runtime.PYTHON_3_14,
                code=lambda_.Code.from_asset(str(_HERE), exclude=_ALL_BUT_THE_HANDLER, ignore_mode=IgnoreMode.GIT),
                handler=entry,
                role=role.without_policy_updates(),
                log_group=log_group,
                memory_size=256,
                timeout=Duration.minutes(1),
                environment={"ARTIFACT_BUCKET": bucket.bucket_name, "REPOSITORY_NAME": repository.repository_name},
            )

        on_event = function("OnEvent", "build_run_handler.handler.on_event", "Starts a build, unless its result exists")
        is_complete = function(
            "IsComplete", "build_run_handler.handler.is_complete", "Watches a build, reads its result"
        )
        # Roles of our own: the construct's have AWS's basic execution policy, which may write to every log group.
        framework_roles = [
            permissions.lambda_role(self, id_, log_group=log_group)
            for id_ in ("FrameworkStartRole", "FrameworkWaitRole")
        ]
        provider = custom_resources.Provider(
            self,
            "Provider",
            on_event_handler=on_event,
            is_complete_handler=is_complete,
            query_interval=Duration.seconds(5),
            total_timeout=Duration.hours(1),  # CloudFormation's own limit; a build ends before it
            log_group=log_group,
            framework_on_event_role=framework_roles[0],
            framework_complete_and_timeout_role=framework_roles[1],
            disable_waiter_state_machine_logging=True,  # the rights to deliver its log need a `*` resource
        )
        self.service_token = provider.service_token
        versions = [f"{each.function_arn}:*" for each in (on_event, is_complete)]
        for framework_role in framework_roles:
            acknowledge_wildcards(framework_role, versions, reason=_VERSIONS)
        _acknowledge_waiter(provider)


def _acknowledge_waiter(provider: custom_resources.Provider) -> None:
    """The state machine that CDK makes to wait."""
    waiter = provider.node.find_child("waiter-state-machine")
    functions = [provider.node.find_child(f"framework-{each}") for each in ("isComplete", "onTimeout")]
    acknowledge_wildcards(
        waiter.node.find_child("Role"),
        [f"{each.function_arn}:*" for each in functions if isinstance(each, lambda_.Function)],
        reason=_VERSIONS,
    )
    acknowledge(waiter, "SF1", reason="What it waits for is in the functions' log; its own needs a `*` resource")
    acknowledge(waiter, "SF2", reason="It does nothing but to ask one function again and again")
