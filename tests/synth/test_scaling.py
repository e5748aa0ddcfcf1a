"""How the number of instances follows the load, real time and asynchronous."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_sagemaker as sagemaker

from stacks.scaling import EndpointScaling
from stacks.settings import Asynchronous, RealTime, Scaling

from .conftest import Template, only, resources
from .lone_stack import lone_stack, template_of

POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
QUEUED = Asynchronous(max_concurrent_invocations_per_instance=2)


def scaled(invocation: RealTime | Asynchronous, *, minimum: int) -> Template:
    stack = lone_stack()
    endpoint = sagemaker.CfnEndpoint(stack, "Endpoint", endpoint_config_name="given")
    EndpointScaling(
        stack,
        "Scaling",
        endpoint=endpoint,
        variant_name="AllTraffic",
        invocation=invocation,
        scaling=Scaling(
            minimum=minimum,
            maximum=4,
            requests_per_instance=3,
            scale_out_cooldown_seconds=60,
            scale_in_cooldown_seconds=300,
        ),
    )
    return template_of(stack)


def tracking(template: Template) -> dict[str, Any]:
    (found,) = [
        each["Properties"]["TargetTrackingScalingPolicyConfiguration"]
        for each in resources(template, POLICY)
        if each["Properties"]["PolicyType"] == "TargetTrackingScaling"
    ]
    assert isinstance(found, dict)
    return found


def test_the_variant_is_registered_once_its_endpoint_exists_and_between_its_limits() -> None:
    target = only(scaled(RealTime(), minimum=1), TARGET)["Properties"]
    assert target["ResourceId"] == {
        "Fn::Join": ["", ["endpoint/", {"Fn::GetAtt": ["Endpoint", "EndpointName"]}, "/variant/AllTraffic"]]
    }
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    assert target["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    assert target["ServiceNamespace"] == "sagemaker"


def test_real_time_follows_the_requests_under_way_per_instance() -> None:
    template = scaled(RealTime(), minimum=1)
    assert tracking(template) == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        },
        "TargetValue": 3,
        "ScaleOutCooldown": 60,
        "ScaleInCooldown": 300,
    }
    assert len(resources(template, POLICY)) == 1
    assert not resources(template, "AWS::CloudWatch::Alarm")


def test_asynchronous_follows_the_requests_that_wait_per_instance() -> None:
    template = scaled(QUEUED, minimum=1)
    assert tracking(template)["CustomizedMetricSpecification"] == {
        "Namespace": "AWS/SageMaker",
        "MetricName": "ApproximateBacklogSizePerInstance",
        "Dimensions": [{"Name": "EndpointName", "Value": {"Fn::GetAtt": ["Endpoint", "EndpointName"]}}],
        "Statistic": "Average",
    }
    assert len(resources(template, POLICY)) == 1


def test_the_first_instance_is_started_when_requests_wait_and_there_is_none() -> None:
    template = scaled(QUEUED, minimum=0)
    assert only(template, TARGET)["Properties"]["MinCapacity"] == 0
    (name,) = [
        name
        for name, each in template["Resources"].items()
        if each["Type"] == POLICY and each["Properties"]["PolicyType"] == "StepScaling"
    ]
    assert template["Resources"][name]["Properties"]["StepScalingPolicyConfiguration"] == {
        "AdjustmentType": "ChangeInCapacity",
        "MetricAggregationType": "Average",
        "Cooldown": 60,
        "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
    }
    alarm = only(template, "AWS::CloudWatch::Alarm")["Properties"]
    assert alarm["MetricName"] == "HasBacklogWithoutCapacity"
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")
    assert alarm["AlarmActions"] == [{"Ref": name}]


def test_a_real_time_endpoint_without_instances_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scaling minimum 0 with real-time hosting; 1 or more allowed"):
        scaled(RealTime(), minimum=0)
