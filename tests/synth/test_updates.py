"""What CloudFormation is told about updating an endpoint: blue/green, canary, rolling, and what rolls one back."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_sagemaker as sagemaker

from stacks.settings import BlueGreen, Rolling
from stacks.updates import deployment_config

from .conftest import only
from .lone_stack import lone_stack, template_of

AT_ONCE = BlueGreen(canary_percent=None, bake_seconds=120, termination_wait_seconds=300)
CANARY = BlueGreen(canary_percent=10, bake_seconds=600, termination_wait_seconds=300)
ROLLING = Rolling(batch_percent=25, bake_seconds=180)


def said(update: BlueGreen | Rolling, *alarms: str) -> dict[str, Any]:
    stack = lone_stack()
    sagemaker.CfnEndpoint(
        stack,
        "Endpoint",
        endpoint_config_name="given",
        deployment_config=deployment_config(update, rollback_alarm_names=alarms),
    )
    endpoint = only(template_of(stack), "AWS::SageMaker::Endpoint")
    found = endpoint["Properties"]["DeploymentConfig"]
    assert isinstance(found, dict)
    return found


def test_all_at_once_bakes_and_then_keeps_the_old_fleet_for_a_while() -> None:
    assert said(AT_ONCE)["BlueGreenUpdatePolicy"] == {
        "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 120},
        "TerminationWaitInSeconds": 300,
    }


def test_a_canary_takes_its_share_until_it_has_baked() -> None:
    assert said(CANARY)["BlueGreenUpdatePolicy"] == {
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10},
            "WaitIntervalInSeconds": 600,
        },
        "TerminationWaitInSeconds": 300,
    }


def test_rolling_replaces_a_share_of_the_instances_at_a_time() -> None:
    assert said(ROLLING) == {
        "RollingUpdatePolicy": {
            "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 25},
            "WaitIntervalInSeconds": 180,
        }
    }


@pytest.mark.parametrize("update", [AT_ONCE, CANARY, ROLLING], ids=["all at once", "canary", "rolling"])
def test_each_kind_is_rolled_back_by_the_alarms_it_is_given(update: BlueGreen | Rolling) -> None:
    assert said(update, "errors", "latency")["AutoRollbackConfiguration"] == {
        "Alarms": [{"AlarmName": "errors"}, {"AlarmName": "latency"}]
    }
    assert "AutoRollbackConfiguration" not in said(update)
