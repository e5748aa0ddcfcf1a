"""What the templates must and must not say, by the numbered rules of the design and the faults that others reported."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import RemovalPolicy, Stack

from model_packaging.declaration import read_declaration
from stacks.artifact_store import ArtifactStore
from stacks.container_build import BASE_IMAGES

from .conftest import ROOT, Synthesize, Template, Templates, only, resources

DIGEST_URI = re.compile(r"[^@\s:]+(?::\d+)?/[^@\s:]+@sha256:[0-9a-f]{64}")
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/decision/server@sha256:" + "ab" * 32
ARCHIVE_KEY = "decision/" + "cd" * 32 + "/model.tar.gz"
ENVIRONMENTS = ["local", "dev", "staging", "prod"]


def variant(endpoint: Template) -> dict[str, Any]:
    (found,) = only(endpoint, "AWS::SageMaker::EndpointConfig")["Properties"]["ProductionVariants"]
    assert isinstance(found, dict)
    return found


def runs(endpoint: Template) -> dict[str, dict[str, Any]]:
    return {each["Properties"]["Kind"]: each for each in resources(endpoint, "Custom::BuildRun")}


def logical_id(template: Template, type_: str) -> str:
    (found,) = [name for name, each in template["Resources"].items() if each["Type"] == type_]
    return str(found)


# Rules 1 to 8 of the stacks.


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_builds_run_in_the_stack_that_uses_their_results(synthesize: Synthesize, name: str) -> None:
    templates = synthesize(name)
    assert set(runs(templates["scoring"])) == {"model", "image"}
    assert not resources(templates["builds"], "Custom::BuildRun")
    container = only(templates["scoring"], "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    (image_run,) = [k for k, v in templates["scoring"]["Resources"].items() if v["Properties"].get("Kind") == "image"]
    (model_run,) = [k for k, v in templates["scoring"]["Resources"].items() if v["Properties"].get("Kind") == "model"]
    assert container["Image"] == {"Fn::GetAtt": [image_run, "Uri"]}
    assert {"Fn::GetAtt": [model_run, "Key"]} in container["ModelDataUrl"]["Fn::Join"][1]


def test_only_names_roles_and_the_service_token_cross_stacks(synthesize: Synthesize) -> None:
    templates = synthesize("dev")
    exported = {
        json.dumps(output["Value"], sort_keys=True)
        for stack in ("artifacts", "builds")
        for output in templates[stack]["Outputs"].values()
        if "Export" in output
    }
    kinds = set()
    for value in exported:
        parsed = json.loads(value)
        name = parsed["Ref"] if "Ref" in parsed else parsed["Fn::GetAtt"][0]
        type_ = next(
            template["Resources"][name]["Type"] for template in templates.values() if name in template["Resources"]
        )
        kinds.add((type_, parsed.get("Fn::GetAtt", [None, "Ref"])[1]))
    assert kinds == {
        ("AWS::S3::Bucket", "Ref"),
        ("AWS::S3::Bucket", "Arn"),
        ("AWS::ECR::Repository", "Ref"),
        ("AWS::ECR::Repository", "Arn"),
        ("AWS::CodeBuild::Project", "Ref"),
        ("AWS::Lambda::Function", "Arn"),
    }


def test_a_changed_model_and_image_leave_the_other_stacks_as_they_were(synthesize: Synthesize) -> None:
    one = synthesize("dev")
    two = synthesize(
        "dev",
        scoring={"model": {"declaration": "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml"}},
    )
    assert one["artifacts"] == two["artifacts"]
    assert one["builds"] == two["builds"]
    assert one["scoring"] != two["scoring"]


def test_a_build_ends_before_everyone_who_waits_for_it(synthesize: Synthesize) -> None:
    builds = synthesize("dev")["builds"]
    projects = resources(builds, "AWS::CodeBuild::Project")
    assert [each["Properties"]["TimeoutInMinutes"] for each in projects] == [55, 55]
    assert all(each["Properties"]["QueuedTimeoutInMinutes"] <= 5 for each in projects)
    machine = json.dumps(only(builds, "AWS::StepFunctions::StateMachine")["Properties"]["DefinitionString"])
    (interval,) = re.findall(r'IntervalSeconds\\+":(\d+)', machine)
    (attempts,) = re.findall(r'MaxAttempts\\+":(\d+)', machine)
    assert 55 * 60 < int(interval) * int(attempts) <= 60 * 60


def test_source_and_trigger_come_with_each_run_and_stand_in_no_project(synthesize: Synthesize) -> None:
    templates = synthesize("dev")
    for project in resources(templates["builds"], "AWS::CodeBuild::Project"):
        names = {each["Name"] for each in project["Properties"]["Environment"]["EnvironmentVariables"]}
        assert names <= {"ARTIFACT_BUCKET", "REPOSITORY_NAME", "REPOSITORY_URI"}
    for run in runs(templates["scoring"]).values():
        assert re.fullmatch(r"[0-9a-f]{64}", run["Properties"]["Trigger"])
        assert re.fullmatch(r"/[0-9a-f]{64}\.zip", run["Properties"]["SourceLocation"]["Fn::Join"][1][-1])


@pytest.mark.parametrize(("name", "target"), [("dev", "cpu"), ("prod", "cuda")])
def test_the_image_is_built_from_its_targets_base_by_digest(synthesize: Synthesize, name: str, target: str) -> None:
    variables = runs(synthesize(name)["scoring"])["image"]["Properties"]["Variables"]
    base = BASE_IMAGES["cpu" if target == "cpu" else "cuda"]
    assert variables == {"TARGET": target, "BASE_IMAGE": base, "LIBRARIES": "base"}
    assert DIGEST_URI.fullmatch(variables["BASE_IMAGE"])


def test_a_pinned_image_and_archive_are_served_without_any_build(synthesize: Synthesize) -> None:
    endpoint = synthesize(
        "dev",
        scoring={
            "container": {"target": "cpu", "image_uri": IMAGE},
            "model": {"model_data_url": f"s3://my-models/{ARCHIVE_KEY}"},
        },
    )["scoring"]
    assert not resources(endpoint, "Custom::BuildRun")
    container = only(endpoint, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    assert container["Image"] == IMAGE
    assert container["ModelDataUrl"] == f"s3://my-models/{ARCHIVE_KEY}"
    policy = json.dumps(only(endpoint, "AWS::IAM::Policy"))
    assert ":s3:::my-models/decision/" + "cd" * 32 + "/*" in policy
    assert ":ecr:eu-west-1:123456789012:repository/decision/server" in policy


def test_a_model_that_is_not_packed_is_named_by_its_prefix_and_read_with_the_same_rights(
    synthesize: Synthesize,
) -> None:
    packed = synthesize("dev")["scoring"]
    declaration = runs(packed)["model"]["Properties"]["Variables"]["DECLARATION"]
    unpacked = synthesize("dev", scoring={"model": {"declaration": declaration, "compression": "none"}})["scoring"]
    container = only(unpacked, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    assert "ModelDataUrl" not in container
    source = container["ModelDataSource"]["S3DataSource"]
    (model_run,) = [k for k, v in unpacked["Resources"].items() if v["Properties"].get("Kind") == "model"]
    assert (source["S3DataType"], source["CompressionType"]) == ("S3Prefix", "None")
    assert {"Fn::GetAtt": [model_run, "Key"]} in source["S3Uri"]["Fn::Join"][1]
    assert only(unpacked, "AWS::IAM::Policy") == only(packed, "AWS::IAM::Policy")
    variables = [runs(each)["model"]["Properties"]["Variables"] for each in (packed, unpacked)]
    assert [each["COMPRESSION"] for each in variables] == ["gzip", "none"]
    assert runs(packed)["model"]["Properties"]["Trigger"] != runs(unpacked)["model"]["Properties"]["Trigger"]


def test_members_that_are_in_s3_already_are_served_from_their_own_prefix(synthesize: Synthesize) -> None:
    url = f"s3://my-models/{ARCHIVE_KEY.removesuffix('.tar.gz')}/"
    endpoint = synthesize("dev", scoring={"model": {"model_data_url": url}})["scoring"]
    container = only(endpoint, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    source = {"S3DataType": "S3Prefix", "CompressionType": "None", "S3Uri": url}
    assert container["ModelDataSource"] == {"S3DataSource": source}
    assert ":s3:::my-models/decision/" + "cd" * 32 + "/*" in json.dumps(only(endpoint, "AWS::IAM::Policy"))


# F10: an update updates the endpoint.


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_model_and_endpoint_config_have_generated_names_and_the_endpoint_a_stable_one(
    synthesize: Synthesize, name: str
) -> None:
    endpoint = synthesize(name)["scoring"]
    assert "ModelName" not in only(endpoint, "AWS::SageMaker::Model")["Properties"]
    config = only(endpoint, "AWS::SageMaker::EndpointConfig")["Properties"]
    assert "EndpointConfigName" not in config
    assert config["ProductionVariants"][0]["ModelName"] == {
        "Fn::GetAtt": [logical_id(endpoint, "AWS::SageMaker::Model"), "ModelName"]
    }
    properties = only(endpoint, "AWS::SageMaker::Endpoint")["Properties"]
    assert properties["EndpointName"] == f"decision-{name}-scoring"
    assert properties["EndpointConfigName"] == {
        "Fn::GetAtt": [logical_id(endpoint, "AWS::SageMaker::EndpointConfig"), "EndpointConfigName"]
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": {"n_ctx": 8192}},
        {"container": {"target": "cpu", "image_uri": IMAGE}},
        {"model": {"model_data_url": f"s3://my-models/{ARCHIVE_KEY}"}},
        {
            "hosting": {
                "instance_type": "ml.c7i.4xlarge",
                "instance_count": 2,
                "model_download_timeout_seconds": 900,
                "startup_timeout_seconds": 900,
            }
        },
    ],
    ids=["environment", "image", "model", "instance"],
)
def test_a_change_never_touches_a_property_that_would_replace_the_endpoint(
    synthesize: Synthesize, changes: dict[str, Any]
) -> None:
    before, after = synthesize("dev")["scoring"], synthesize("dev", scoring=changes)["scoring"]
    type_ = "AWS::SageMaker::Endpoint"
    assert logical_id(before, type_) == logical_id(after, type_)
    assert only(before, type_)["Properties"] == only(after, type_)["Properties"]
    assert before["Resources"] != after["Resources"]


def deployment(templates: Templates, key: str) -> dict[str, Any]:
    found: dict[str, Any] = only(templates[key], "AWS::SageMaker::Endpoint")["Properties"]
    return found


def test_an_update_is_taken_back_by_the_endpoints_own_alarms(synthesize: Synthesize) -> None:
    templates = synthesize("prod")
    for key in ("scoring", "text"):
        alarms = deployment(templates, key)["DeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"]
        named = {each["AlarmName"]["Ref"] for each in alarms}
        assert named
        assert named <= {k for k, v in templates[key]["Resources"].items() if v["Type"] == "AWS::CloudWatch::Alarm"}


def test_half_of_a_fleet_that_matters_takes_traffic_first_and_the_rest_when_it_has_been_watched(
    synthesize: Synthesize,
) -> None:
    properties = deployment(synthesize("prod"), "scoring")
    assert properties["DeploymentConfig"]["BlueGreenUpdatePolicy"] == {
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 50},
            "WaitIntervalInSeconds": 600,
        },
        "TerminationWaitInSeconds": 300,
    }
    assert properties["RetainAllVariantProperties"] is True


def test_an_endpoint_of_one_instance_is_updated_at_once(synthesize: Synthesize) -> None:
    properties = deployment(synthesize("dev"), "scoring")
    assert properties["DeploymentConfig"]["BlueGreenUpdatePolicy"] == {
        "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0},
        "TerminationWaitInSeconds": 0,
    }
    assert "RetainAllVariantProperties" not in properties


# F12: pools on the GPU, a fixed type on the CPU.


def test_gpu_pools_have_priorities_an_inference_ami_and_no_instance_type(synthesize: Synthesize) -> None:
    found = variant(synthesize("prod")["scoring"])
    assert found["InstancePools"] == [
        {"InstanceType": "ml.g6e.xlarge", "Priority": 1},
        {"InstanceType": "ml.g6.2xlarge", "Priority": 2},
        {"InstanceType": "ml.g5.2xlarge", "Priority": 3},
        {"InstanceType": "ml.g4dn.2xlarge", "Priority": 4},
    ]
    assert "InstanceType" not in found
    assert found["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert found["VariantInstanceProvisionTimeoutInSeconds"] == 1200


@pytest.mark.parametrize(
    ("name", "instance_type"),
    [("local", "ml.c6i.large"), ("dev", "ml.c6i.2xlarge"), ("staging", "ml.c6i.8xlarge")],
)
def test_a_cpu_endpoint_has_a_fixed_type_and_nothing_of_the_gpus(
    synthesize: Synthesize, name: str, instance_type: str
) -> None:
    found = variant(synthesize(name)["scoring"])
    assert found["InstanceType"] == instance_type
    assert not {"InstancePools", "InferenceAmiVersion", "VariantInstanceProvisionTimeoutInSeconds"} & set(found)


def test_a_fixed_gpu_instance_has_the_inference_ami_too(synthesize: Synthesize) -> None:
    hosting = {
        "instance_type": "ml.g6.2xlarge",
        "instance_count": 2,
        "model_download_timeout_seconds": 1200,
        "startup_timeout_seconds": 1200,
    }
    found = variant(synthesize("prod", scoring={"hosting": hosting})["scoring"])
    assert found["InstanceType"] == "ml.g6.2xlarge"
    assert found["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert "InstancePools" not in found


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_variant_states_its_timeouts_and_its_routing(synthesize: Synthesize, name: str) -> None:
    found = variant(synthesize(name)["scoring"])
    assert 60 <= found["ModelDataDownloadTimeoutInSeconds"] <= 3600
    assert 60 <= found["ContainerStartupHealthCheckTimeoutInSeconds"] <= 3600
    assert found["RoutingConfig"] == {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    assert found["InitialInstanceCount"] == (1 if name in ("local", "dev") else 2)


def test_the_containers_variables_are_those_of_the_engine_settings(synthesize: Synthesize) -> None:
    model = only(synthesize("prod")["scoring"], "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    pinned = read_declaration(ROOT / "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml").sha256
    assert model["Environment"] == {
        "DECISION_GGUF_SHA256": pinned,
        "DECISION_N_CTX": "4096",
        "DECISION_N_GPU_LAYERS": "-1",
    }


def test_a_model_that_is_in_s3_already_is_bound_to_the_weights_that_its_setting_names(synthesize: Synthesize) -> None:
    model = {"model_data_url": f"s3://my-models/{ARCHIVE_KEY}", "gguf_sha256": "ef" * 32}
    environments = [
        only(synthesize("dev", scoring={"model": given})["scoring"], "AWS::SageMaker::Model")["Properties"][
            "PrimaryContainer"
        ]["Environment"]
        for given in (model, {"model_data_url": model["model_data_url"]})
    ]
    assert environments[0].pop("DECISION_GGUF_SHA256") == "ef" * 32
    assert environments[0] == environments[1]


# F14: what is kept, and what is said of it.


def test_bucket_and_repository_are_kept_under_generated_names(synthesize: Synthesize) -> None:
    artifacts = synthesize("dev")["artifacts"]
    bucket, repository = only(artifacts, "AWS::S3::Bucket"), only(artifacts, "AWS::ECR::Repository")
    for each in (bucket, repository):
        assert each["DeletionPolicy"] == each["UpdateReplacePolicy"] == "Retain"
    assert "BucketName" not in bucket["Properties"]
    assert not {"RepositoryName", "EmptyOnDelete"} & set(repository["Properties"])
    assert not resources(artifacts, "Custom::S3AutoDeleteObjects")
    left = json.dumps(artifacts["Outputs"]["LeftByDestroy"]["Value"])
    assert logical_id(artifacts, "AWS::S3::Bucket") in left
    assert logical_id(artifacts, "AWS::ECR::Repository") in left


def test_an_ephemeral_environment_empties_and_deletes_both(synthesize: Synthesize) -> None:
    artifacts = synthesize("dev", changes={"ephemeral": True})["artifacts"]
    bucket, repository = only(artifacts, "AWS::S3::Bucket"), only(artifacts, "AWS::ECR::Repository")
    for each in (bucket, repository):
        assert each["DeletionPolicy"] == each["UpdateReplacePolicy"] == "Delete"
    assert repository["Properties"]["EmptyOnDelete"] is True
    assert only(artifacts, "Custom::S3AutoDeleteObjects")["Properties"]["BucketName"] == {
        "Ref": logical_id(artifacts, "AWS::S3::Bucket")
    }
    assert artifacts["Outputs"]["LeftByDestroy"]["Value"] == "nothing"


@pytest.mark.parametrize(("removal_policy", "empty"), [(RemovalPolicy.RETAIN, True), (RemovalPolicy.DESTROY, False)])
def test_a_store_that_is_kept_and_emptied_or_deleted_and_not_emptied_is_refused(
    removal_policy: RemovalPolicy, empty: bool
) -> None:
    with pytest.raises(ValueError, match=r"Store: removal policy .* allowed: RETAIN and False"):
        ArtifactStore(Stack(), "Store", data_key_arn=None, removal_policy=removal_policy, empty_on_delete=empty)


def test_nothing_in_the_bucket_expires_but_uploads_that_failed(synthesize: Synthesize) -> None:
    properties = only(synthesize("dev")["artifacts"], "AWS::S3::Bucket")["Properties"]
    (rule,) = properties["LifecycleConfiguration"]["Rules"]
    assert {key for key in rule if "Expiration" in key} == set()
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert properties["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }


def test_the_bucket_refuses_what_does_not_come_by_tls(synthesize: Synthesize) -> None:
    statements = only(synthesize("dev")["artifacts"], "AWS::S3::BucketPolicy")["Properties"]["PolicyDocument"][
        "Statement"
    ]
    denied = [each for each in statements if each["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [each["Condition"] for each in denied]
    assert all(each["Action"] == "s3:*" and each["Principal"] == {"AWS": "*"} for each in denied)


def test_images_are_scanned_and_their_tags_cannot_be_moved(synthesize: Synthesize) -> None:
    properties = only(synthesize("dev")["artifacts"], "AWS::ECR::Repository")["Properties"]
    assert properties["ImageTagMutability"] == "IMMUTABLE"
    assert properties["ImageScanningConfiguration"] == {"ScanOnPush": True}


@pytest.mark.parametrize("stack", ["builds", "operations"])
def test_every_log_has_a_life_span_and_goes_with_its_stack(synthesize: Synthesize, stack: str) -> None:
    groups = resources(synthesize("prod")[stack], "AWS::Logs::LogGroup")
    assert groups
    for group in groups:
        assert group["Properties"]["RetentionInDays"] == 90
        assert group["DeletionPolicy"] == "Delete"


def test_an_endpoints_log_outlives_the_stack_of_an_endpoint_that_fails_and_is_there_before_it(
    synthesize: Synthesize,
) -> None:
    templates = synthesize("prod")
    names = {each["Properties"]["LogGroupName"] for each in resources(templates["operations"], "AWS::Logs::LogGroup")}
    for key in ("scoring", "text"):
        assert f"/aws/sagemaker/Endpoints/decision-prod-{key}" in names
        assert resources(templates[key], "AWS::Logs::LogGroup") == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_outputs_tell_what_to_call_and_what_runs_there(synthesize: Synthesize, name: str) -> None:
    templates = synthesize(name)
    assert {"EndpointName", "ImageUri", "ModelDataUrl"} <= set(templates["scoring"]["Outputs"])
    assert {"BucketName", "RepositoryUri", "LeftByDestroy"} <= set(templates["artifacts"]["Outputs"])


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_template_names_an_image_by_tag(synthesize: Synthesize, name: str) -> None:
    text = json.dumps(synthesize(name))
    for image in re.findall(r"[a-z0-9.-]+\.(?:ecr\.aws|amazonaws\.com)/[A-Za-z0-9._/-]+[:@][A-Za-z0-9:._-]+", text):
        assert DIGEST_URI.fullmatch(image), image
    assert "docker.io" not in text
