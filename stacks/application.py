"""The stacks of one environment and what they hand each other."""

from __future__ import annotations

import os
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from stacks.artifact_stack import ArtifactStack
from stacks.build_run import BuildRun
from stacks.build_stack import BuildStack
from stacks.endpoint_stack import EndpointStack
from stacks.operations_stack import ENVIRONMENT_TAG, OperationsStack
from stacks.serving import Surroundings
from stacks.settings import DecisionEndpoint, Environment, StandardEndpoint
from stacks.standard_endpoint_stack import StandardEndpointStack

_ENDPOINT_TAG = "decision-endpoint"
_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    3653: logs.RetentionDays.TEN_YEARS,
}


def add_stacks(app: cdk.App, *, settings: Environment, root: Path) -> None:
    """Account and region are those of the credentials; nothing is looked up, so that synth needs neither.

    root: the project's folder, where container/ and model_packaging/ are.
    """
    env = cdk.Environment(account=os.environ.get("CDK_DEFAULT_ACCOUNT"), region=os.environ.get("CDK_DEFAULT_REGION"))
    prefix = f"decision-{settings.name}"
    retention = _RETENTION[settings.log_retention_days]
    artifacts = ArtifactStack(
        app,
        f"{prefix}-artifacts",
        env=env,
        ephemeral=settings.ephemeral,
        data_key_arn=settings.keys.data,
        log_retention=retention,
    )
    builds = BuildStack(
        app,
        f"{prefix}-builds",
        env=env,
        store=artifacts.store,
        data_key_arn=settings.keys.data,
        log_retention=retention,
    )
    operations = OperationsStack(
        app,
        f"{prefix}-operations",
        env=env,
        environment_name=settings.name,
        notifications=settings.notifications,
        budget=settings.budget,
        keys=settings.keys,
        log_retention=retention,
        endpoints=settings.endpoints,
    )
    surroundings = Surroundings(
        store=artifacts.store,
        builds=builds,
        topic=operations.topic,
        network=settings.network,
        keys=settings.keys,
        root=root,
    )
    last_to_run: dict[str, cdk.Stack] = {}
    for endpoint in settings.endpoints:
        match endpoint:
            case DecisionEndpoint():
                stack: cdk.Stack = EndpointStack(
                    app, endpoint.name, env=env, endpoint=endpoint, surroundings=surroundings
                )
            case StandardEndpoint():
                stack = StandardEndpointStack(app, endpoint.name, env=env, endpoint=endpoint, surroundings=surroundings)
        stack.add_stack_dependency(operations)  # its alarms tell the topic there, its instances write to their log
        cdk.Tags.of(stack).add(_ENDPOINT_TAG, endpoint.key)
        _wait_for_shared_builds(stack, last_to_run)
    for key, value in settings.tags:
        cdk.Tags.of(app).add(key, value)
    cdk.Tags.of(app).add(ENVIRONMENT_TAG, settings.name)


def _wait_for_shared_builds(stack: cdk.Stack, last_to_run: dict[str, cdk.Stack]) -> None:
    """Of the stacks that run the same build each waits for the one before: it finds the result, and nothing is built
    twice even where stacks are deployed in parallel. last_to_run: by trigger, gets this stack."""
    for each in stack.node.children:
        if isinstance(each, BuildRun):
            if each.trigger in last_to_run:
                stack.add_stack_dependency(last_to_run[each.trigger])
            last_to_run[each.trigger] = stack
