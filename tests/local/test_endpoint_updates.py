"""Updates of an endpoint on the emulator: traffic in steps, alarms that undo them, what scaling allows and keeps."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from local.emulator.deployments import TIME_SCALE, Step, deployment
from tests.local.conftest import Hosted, eventually
from tests.local.test_sagemaker_plane import pools, refusal

DIMENSION = {"ServiceNamespace": "sagemaker", "ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}


def running(hosted: Hosted, name: str, **variant: Any) -> None:
    """An endpoint that answers with FAKE_VERSION a, and a configuration `…-b` of version b to update to."""
    for version in ("a", "b"):
        hosted.model(f"{name}-{version}", environment={"FAKE_VERSION": version})
    hosted.config(f"{name}-a", f"{name}-a", **variant)
    hosted.config(f"{name}-b", f"{name}-b", **variant)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=name, EndpointConfigName=f"{name}-a")
    assert hosted.settled(name)["EndpointStatus"] == "InService"


def version(hosted: Hosted, name: str) -> str:
    answer: str = hosted.ask(name)["environment"]["FAKE_VERSION"]
    return answer


def alarm(hosted: Hosted, name: str, state: str) -> None:
    cloudwatch = hosted.emulated.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName=name,
        Namespace="T",
        MetricName=name,
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
    )
    cloudwatch.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")


def blue_green(routing: dict[str, Any], *alarms: str) -> dict[str, Any]:
    policy = {
        "TrafficRoutingConfiguration": {"WaitIntervalInSeconds": 0, **routing},
        "TerminationWaitInSeconds": 0,
    }
    rollback = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": name} for name in alarms]}} if alarms else {}
    return {"BlueGreenUpdatePolicy": policy, **rollback}


CANARY = {"Type": "CANARY", "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 50}}


def test_a_canary_gets_its_share_of_the_traffic_and_an_alarm_takes_all_of_it_back(hosted: Hosted, unique: str) -> None:
    sagemaker, cloudwatch = hosted.emulated.client("sagemaker"), hosted.emulated.client("cloudwatch")
    running(hosted, unique, InitialInstanceCount=2)
    alarm(hosted, f"{unique}-errors", "OK")
    config = blue_green({**CANARY, "WaitIntervalInSeconds": 3600}, f"{unique}-errors")
    sagemaker.update_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-b", DeploymentConfig=config)
    eventually(lambda: {version(hosted, unique) for _ in range(8)} == {"a", "b"})
    assert sagemaker.describe_endpoint(EndpointName=unique)["EndpointStatus"] == "Updating"
    cloudwatch.set_alarm_state(AlarmName=f"{unique}-errors", StateValue="ALARM", StateReason="a test")
    after = hosted.settled(unique)
    assert after["EndpointStatus"] == "InService"
    assert after["EndpointConfigName"] == f"{unique}-a"
    assert f"went off while the new instances were watched: {unique}-errors" in after["FailureReason"]
    assert {version(hosted, unique) for _ in range(8)} == {"a"}


def test_an_alarm_that_rings_already_undoes_the_update(hosted: Hosted, unique: str) -> None:
    running(hosted, unique)
    alarm(hosted, f"{unique}-errors", "ALARM")
    hosted.emulated.client("sagemaker").update_endpoint(
        EndpointName=unique,
        EndpointConfigName=f"{unique}-b",
        DeploymentConfig=blue_green({"Type": "ALL_AT_ONCE"}, f"{unique}-errors"),
    )
    after = hosted.settled(unique)
    assert after["EndpointConfigName"] == f"{unique}-a"
    assert version(hosted, unique) == "a"


def test_alarms_that_are_quiet_let_the_update_through_and_those_that_are_not_there_do_not(
    hosted: Hosted, unique: str
) -> None:
    update = hosted.emulated.client("sagemaker").update_endpoint
    running(hosted, unique, InitialInstanceCount=2)
    config = blue_green(CANARY, f"{unique}-errors")
    message = refusal(update, EndpointName=unique, EndpointConfigName=f"{unique}-b", DeploymentConfig=config)
    assert message == f"AutoRollbackConfiguration names alarms that do not exist: {unique}-errors."
    alarm(hosted, f"{unique}-errors", "OK")
    update(EndpointName=unique, EndpointConfigName=f"{unique}-b", DeploymentConfig=config)
    assert hosted.settled(unique)["EndpointConfigName"] == f"{unique}-b"
    assert version(hosted, unique) == "b"


def test_a_rolling_update_moves_the_traffic_batch_by_batch() -> None:
    policy = {"MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 30}, "WaitIntervalInSeconds": 100}
    steps = deployment({"RollingUpdatePolicy": policy}, instances=4).steps
    assert [step.share for step in steps] == pytest.approx([0.3, 0.6, 0.9, 1.0])
    assert {step.seconds for step in steps} == {100 * TIME_SCALE}


def test_a_canary_counted_in_instances_is_a_share_of_the_fleet() -> None:
    routing = {"Type": "CANARY", "CanarySize": {"Type": "INSTANCE_COUNT", "Value": 1}, "WaitIntervalInSeconds": 0}
    assert deployment(blue_green(routing), instances=4).steps == (
        Step(share=0.25, seconds=0),
        Step(share=1.0, seconds=0),
    )


@pytest.mark.parametrize(
    ("routing", "words"),
    [
        ({"Type": "CANARY"}, "CanarySize must be given with traffic routing CANARY"),
        ({"Type": "ALL_AT_ONCE", "CanarySize": CANARY["CanarySize"]}, "CanarySize cannot be given"),
        ({**CANARY, "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 60}}, "CanarySize of 60 percent is out of"),
        ({**CANARY, "CanarySize": {"Type": "INSTANCE_COUNT", "Value": 1}}, "CanarySize of 1 of 1 instances is out of"),
        ({"Type": "LINEAR", "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 9}}, "10 to 50 percent"),
    ],
)
def test_traffic_that_cannot_be_routed_so_is_refused(
    routing: dict[str, Any], words: str, hosted: Hosted, unique: str
) -> None:
    running(hosted, unique)
    message = refusal(
        hosted.emulated.client("sagemaker").update_endpoint,
        EndpointName=unique,
        EndpointConfigName=f"{unique}-b",
        DeploymentConfig=blue_green(routing),
    )
    assert words in message


def test_what_was_set_while_it_ran_is_kept_when_the_update_says_so(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    running(hosted, unique)

    def count(**keep: Any) -> int:
        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=unique,
            DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredInstanceCount": 3}],
        )
        sagemaker.update_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-b", **keep)
        counted: int = hosted.settled(unique)["ProductionVariants"][0]["DesiredInstanceCount"]
        return counted

    assert count(RetainAllVariantProperties=True) == 3
    excluded = [{"VariantPropertyType": "DesiredInstanceCount"}]
    assert count(RetainAllVariantProperties=True, ExcludeRetainedVariantProperties=excluded) == 1
    assert count() == 1


def test_a_variant_that_scales_keeps_its_instance_type_until_it_is_deregistered(hosted: Hosted, unique: str) -> None:
    sagemaker, scaling = (hosted.emulated.client(each) for each in ("sagemaker", "application-autoscaling"))
    running(hosted, unique)
    hosted.config(f"{unique}-large", f"{unique}-b", InstanceType="ml.c6i.xlarge")
    target = {**DIMENSION, "ResourceId": f"endpoint/{unique}/variant/AllTraffic"}
    scaling.register_scalable_target(**target, MinCapacity=2, MaxCapacity=4)
    assert hosted.settled(unique)["ProductionVariants"][0]["DesiredInstanceCount"] == 2
    message = refusal(sagemaker.update_endpoint, EndpointName=unique, EndpointConfigName=f"{unique}-large")
    assert "is registered as a scalable target" in message
    assert "ml.c6i.large to ml.c6i.xlarge" in message
    sagemaker.update_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-b")  # another model is no obstacle
    assert hosted.settled(unique)["EndpointConfigName"] == f"{unique}-b"
    scaling.deregister_scalable_target(**target)
    sagemaker.update_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-large")
    assert hosted.settled(unique)["EndpointConfigName"] == f"{unique}-large"


def test_a_target_is_described_with_its_policies_and_goes_with_its_endpoint(hosted: Hosted, unique: str) -> None:
    scaling = hosted.emulated.client("application-autoscaling")
    running(hosted, unique)
    target = {**DIMENSION, "ResourceId": f"endpoint/{unique}/variant/AllTraffic"}
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=4)
    policy = {
        "TargetValue": 4.0,
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        },
    }
    scaling.put_scaling_policy(
        **target,
        PolicyName="tracking",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=policy,
    )
    found = scaling.describe_scaling_policies(ServiceNamespace="sagemaker", ResourceId=target["ResourceId"])
    assert found["ScalingPolicies"][0]["TargetTrackingScalingPolicyConfiguration"] == policy

    def targets() -> list[str]:
        found = scaling.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[target["ResourceId"]])
        return [each["ResourceId"] for each in found["ScalableTargets"]]

    assert targets() == [target["ResourceId"]]
    hosted.remove(unique)
    assert targets() == []


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"MinCapacity": 0, "MaxCapacity": 1}, "only asynchronous hosting has 0"),
        ({"MinCapacity": 2, "MaxCapacity": 1}, "Maximum capacity cannot be less than minimum capacity"),
        ({"MaxCapacity": 1}, "Both minimum and maximum capacity"),
    ],
)
def test_bounds_that_cannot_be_are_refused(bounds: dict[str, int], words: str, hosted: Hosted, unique: str) -> None:
    running(hosted, unique)
    register = hosted.emulated.client("application-autoscaling").register_scalable_target
    assert words in refusal(register, **DIMENSION, ResourceId=f"endpoint/{unique}/variant/AllTraffic", **bounds)
    assert "does not exist" in refusal(
        register, **DIMENSION, ResourceId=f"endpoint/{unique}/variant/Other", MinCapacity=1, MaxCapacity=1
    )


def test_a_volume_key_is_refused_where_the_disks_are_the_instances_own(hosted: Hosted, unique: str) -> None:
    hosted.model(unique)
    create = hosted.emulated.client("sagemaker").create_endpoint_config
    variant = {"VariantName": "AllTraffic", "ModelName": unique, "InitialInstanceCount": 1}
    key = "arn:aws:kms:us-east-1:123456789012:key/1"
    message = refusal(
        create,
        EndpointConfigName=unique,
        KmsKeyId=key,
        ProductionVariants=[{**variant, "InstancePools": pools("ml.g6e.xlarge", "ml.g4dn.2xlarge")}],
    )
    assert message == "KmsKeyId cannot be specified for instances with local storage: ml.g4dn.2xlarge, ml.g6e.xlarge."
    create(EndpointConfigName=unique, KmsKeyId=key, ProductionVariants=[{**variant, "InstanceType": "ml.c6i.xlarge"}])


def test_captured_requests_and_answers_are_lines_below_the_destination(hosted: Hosted, unique: str) -> None:
    sagemaker, s3 = hosted.emulated.client("sagemaker"), hosted.emulated.client("s3")
    hosted.model(unique, environment={})
    sagemaker.create_endpoint_config(
        EndpointConfigName=unique,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": unique,
                "InitialInstanceCount": 1,
                "InstanceType": "ml.c6i.large",
            }
        ],
        DataCaptureConfig={
            "EnableCapture": True,
            "InitialSamplingPercentage": 100,
            "DestinationS3Uri": f"s3://{hosted.bucket}/capture",
            "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
            "CaptureContentTypeHeader": {"CsvContentTypes": ["text/plain"], "JsonContentTypes": ["application/json"]},
        },
    )
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    hosted.settled(unique)
    answer = hosted.ask(unique, b"a,b")
    keys = eventually(
        lambda: [
            each["Key"]
            for each in s3.list_objects_v2(Bucket=hosted.bucket, Prefix=f"capture/{unique}/AllTraffic/").get(
                "Contents", []
            )
        ]
    )
    assert time.strftime("/%Y/%m/%d/", time.gmtime()) in keys[0]
    line = eventually(lambda: s3.get_object(Bucket=hosted.bucket, Key=keys[0])["Body"].read()).decode()
    assert line.endswith("\n")
    captured = json.loads(line)
    assert captured["captureData"]["endpointInput"] == {
        "observedContentType": "text/plain",
        "mode": "INPUT",
        "data": "a,b",
        "encoding": "CSV",
    }
    output = captured["captureData"]["endpointOutput"]
    assert (output["encoding"], json.loads(output["data"])) == ("JSON", answer)
    assert captured["eventVersion"] == "0"
