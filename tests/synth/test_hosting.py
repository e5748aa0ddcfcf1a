"""What each setting of an endpoint makes of SageMaker's own resources, of its scaling and of its stack's outputs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from model_packaging.declaration import read_declaration

from .conftest import ROOT, Synthesize, Template, Templates, only, resources
from .everything import EVERYTHING
from .lone_stack import plain

DATA_KEY, VOLUME_KEY = EVERYTHING["keys"]["data"], EVERYTHING["keys"]["volume"]
MODEL, CONFIG, ENDPOINT = "AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Endpoint"


@pytest.fixture(scope="session")
def everything(synthesize: Synthesize) -> Templates:
    """Stacks by the endpoint's key; see everything.py."""
    return synthesize("dev", changes=EVERYTHING)


@pytest.fixture(scope="session")
def plainest(synthesize: Synthesize) -> Template:
    """An endpoint with no optional setting."""
    endpoint = {
        "kind": "decision",
        "container": {"target": "cpu"},
        "model": {"declaration": "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml"},
    }
    return synthesize("dev", changes={"endpoints": {"scoring": endpoint}})["scoring"]


def properties(template: Template, type_: str) -> dict[str, Any]:
    found = plain(only(template, type_)["Properties"])
    assert isinstance(found, dict)
    return found


def test_without_settings_nothing_is_captured_queued_scaled_or_put_into_a_vpc(plainest: Template) -> None:
    assert not {"DataCaptureConfig", "AsyncInferenceConfig", "KmsKeyId"} & set(properties(plainest, CONFIG))
    assert "VpcConfig" not in properties(plainest, MODEL)
    assert "RetainAllVariantProperties" not in properties(plainest, ENDPOINT)
    for type_ in ("AWS::ApplicationAutoScaling::ScalableTarget", "AWS::EC2::SecurityGroup"):
        assert not resources(plainest, type_)
    assert not {"BulkJob", "ArtifactBucketName"} & set(plainest["Outputs"])


def test_the_decision_container_has_no_network(everything: Templates, plainest: Template) -> None:
    for template in (everything["scoring"], everything["queued"], plainest):
        assert properties(template, MODEL)["EnableNetworkIsolation"] is True


@pytest.mark.parametrize("key", ["scoring", "queued"])
def test_every_model_of_ours_is_bound_to_its_weights_for_bulk_jobs_and_asynchronous_callers_too(
    everything: Templates, key: str
) -> None:
    """A transform job names the same Model as the endpoint, and so has its variables."""
    endpoint = EVERYTHING["endpoints"][key]
    pinned = read_declaration(ROOT / endpoint["model"]["declaration"]).gguf_sha256
    assert pinned is not None
    assert properties(everything[key], MODEL)["PrimaryContainer"]["Environment"]["DECISION_GGUF_SHA256"] == pinned


def test_the_container_of_aws_is_given_no_variable_that_it_does_not_know(everything: Templates) -> None:
    for key in ("text", "chat"):
        environment = properties(everything[key], MODEL)["PrimaryContainer"].get("Environment", {})
        assert not [name for name in environment if name.startswith("DECISION_")]


def test_the_standard_container_has_a_network_only_to_fetch_its_model(everything: Templates) -> None:
    assert properties(everything["chat"], MODEL)["EnableNetworkIsolation"] is True
    assert properties(everything["text"], MODEL)["EnableNetworkIsolation"] is False


@pytest.mark.parametrize("key", ["scoring", "queued", "text", "chat"])
def test_every_container_is_in_the_given_subnets_and_a_group_of_its_own(everything: Templates, key: str) -> None:
    (group,) = [
        name for name, each in everything[key]["Resources"].items() if each["Type"] == "AWS::EC2::SecurityGroup"
    ]
    assert properties(everything[key], MODEL)["VpcConfig"] == {
        "Subnets": EVERYTHING["network"]["subnet_ids"],
        "SecurityGroupIds": [group],
    }


def test_asynchronous_answers_and_failures_go_below_the_endpoints_own_prefix(everything: Templates) -> None:
    config = properties(everything["queued"], CONFIG)["AsyncInferenceConfig"]
    assert config["ClientConfig"] == {"MaxConcurrentInvocationsPerInstance": 4}
    output = config["OutputConfig"]
    assert output["S3OutputPath"].endswith("/async/decision-dev-queued/output/")
    assert output["S3FailurePath"].endswith("/async/decision-dev-queued/failures/")
    assert output["KmsKeyId"] == DATA_KEY
    assert "AsyncInferenceConfig" not in properties(everything["scoring"], CONFIG)


def test_captured_requests_and_answers_are_readable_and_encrypted_with_the_data_key(everything: Templates) -> None:
    capture = properties(everything["scoring"], CONFIG)["DataCaptureConfig"]
    assert capture["DestinationS3Uri"].endswith("/capture")
    del capture["DestinationS3Uri"]
    assert capture == {
        "EnableCapture": True,
        "InitialSamplingPercentage": 10,
        "KmsKeyId": DATA_KEY,
        "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
        "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
    }


def test_the_instances_volumes_are_encrypted_with_the_volume_key(everything: Templates) -> None:
    assert properties(everything["scoring"], CONFIG)["KmsKeyId"] == VOLUME_KEY


def test_an_update_keeps_the_count_that_scaling_chose(everything: Templates) -> None:
    assert properties(everything["scoring"], ENDPOINT)["RetainAllVariantProperties"] is True
    assert "RetainAllVariantProperties" not in properties(everything["text"], ENDPOINT)


def test_scaling_is_registered_for_the_endpoint_of_its_own_stack(everything: Templates) -> None:
    target = only(everything["scoring"], "AWS::ApplicationAutoScaling::ScalableTarget")["Properties"]
    (name,) = [name for name, each in everything["scoring"]["Resources"].items() if each["Type"] == ENDPOINT]
    assert {"Fn::GetAtt": [name, "EndpointName"]} in target["ResourceId"]["Fn::Join"][1]


@pytest.mark.parametrize("key", ["scoring", "queued", "text"])
def test_an_update_is_rolled_back_by_alarms_that_the_role_may_look_at(everything: Templates, key: str) -> None:
    template = everything[key]
    alarms = [each["AlarmName"]["Ref"] for each in _rollback(template)]
    assert alarms
    assert all(template["Resources"][name]["Type"] == "AWS::CloudWatch::Alarm" for name in alarms)
    (looks,) = [
        each
        for each in only(template, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
        if each["Action"] == "cloudwatch:DescribeAlarms"
    ]
    assert {each.rpartition(":")[2] for each in plain(looks["Resource"])} == set(alarms)


def _rollback(template: Template) -> list[dict[str, Any]]:
    config = only(template, ENDPOINT)["Properties"]["DeploymentConfig"]
    found = config["AutoRollbackConfiguration"]["Alarms"]
    assert isinstance(found, list)
    return found


def test_the_bulk_job_is_an_output_that_names_the_stacks_own_model(everything: Templates) -> None:
    template = everything["scoring"]
    job = json.loads(plain(template["Outputs"]["BulkJob"]["Value"]))
    (model,) = [name for name, each in template["Resources"].items() if each["Type"] == MODEL]
    assert job["ModelName"] == model
    assert job["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"].endswith("/bulk/decision-dev-scoring/input/")
    assert job["TransformOutput"]["KmsKeyId"] == DATA_KEY
    assert job["TransformResources"] == {
        "InstanceType": "ml.c6i.8xlarge",
        "InstanceCount": 1,
        "VolumeKmsKeyId": VOLUME_KEY,
    }


def test_the_bucket_is_an_output_where_callers_use_it(everything: Templates) -> None:
    with_bucket = {key for key, each in everything.items() if "ArtifactBucketName" in each.get("Outputs", {})}
    assert with_bucket == {"scoring", "queued", "chat"}


def test_the_standard_endpoint_runs_awss_image_with_its_own_variables_and_a_model_of_the_hub(
    everything: Templates,
) -> None:
    template = everything["text"]
    (run,) = resources(template, "Custom::BuildRun")
    assert run["Properties"]["Variables"]["TARGET"] == "standard-cpu"
    container = properties(template, MODEL)["PrimaryContainer"]
    assert container["Environment"]["SM_LLAMA_CPP_HF_REPO"] == "Qwen/Qwen2.5-0.5B-Instruct-GGUF"
    assert container["Environment"]["SM_LLAMA_CPP_HF_FILE"] == "qwen2.5-0.5b-instruct-q4_0.gguf"
    assert all(name.startswith("SM_LLAMA_CPP_") for name in container["Environment"])
    assert "ModelDataUrl" not in container
    assert "ModelDataUrl" not in template["Outputs"]


def test_the_standard_endpoint_takes_the_same_archive_as_the_decision_endpoint(everything: Templates) -> None:
    def archive_run(template: Template) -> dict[str, Any]:
        (found,) = [
            each["Properties"]
            for each in resources(template, "Custom::BuildRun")
            if each["Properties"]["Kind"] == "model"
        ]
        assert isinstance(found, dict)
        return found

    assert archive_run(everything["chat"])["Trigger"] == archive_run(everything["scoring"])["Trigger"]
    container = properties(everything["chat"], MODEL)["PrimaryContainer"]
    assert container["ModelDataUrl"].startswith("s3://")
    assert "SM_LLAMA_CPP_HF_REPO" not in container.get("Environment", {})


def test_every_log_bucket_and_repository_is_encrypted_with_the_data_key(everything: Templates) -> None:
    for template in everything.values():
        for group in resources(template, "AWS::Logs::LogGroup"):
            assert group["Properties"]["KmsKeyId"] == DATA_KEY
    bucket = properties(everything["artifacts"], "AWS::S3::Bucket")["BucketEncryption"]
    assert bucket["ServerSideEncryptionConfiguration"] == [
        {
            "BucketKeyEnabled": True,
            "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": DATA_KEY},
        }
    ]
    repository = properties(everything["artifacts"], "AWS::ECR::Repository")["EncryptionConfiguration"]
    assert repository == {"EncryptionType": "KMS", "KmsKey": DATA_KEY}


def test_the_builds_use_the_data_key_through_s3_and_only_they_write(everything: Templates) -> None:
    found = {}
    for policy in resources(everything["builds"], "AWS::IAM::Policy"):
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            if "kms:Decrypt" in statement["Action"]:
                assert statement["Resource"] == DATA_KEY
                assert plain(statement["Condition"]) == {"StringEquals": {"kms:ViaService": "s3.R.U"}}
                found[policy["Properties"]["Roles"][0]["Ref"]] = statement["Action"]
    assert {
        next(
            known for known in ("ModelBuildRole", "ImageBuildRole", "BuildRunHandlerRole") if name.startswith(known)
        ): (actions)
        for name, actions in found.items()
    } == {
        "ModelBuildRole": ["kms:Decrypt", "kms:GenerateDataKey"],
        "ImageBuildRole": ["kms:Decrypt", "kms:GenerateDataKey"],
        "BuildRunHandlerRole": "kms:Decrypt",
    }
