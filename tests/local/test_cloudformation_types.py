"""The SageMaker resource types of the emulator's CloudFormation: replacement, update in place, rollback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.cloudformation_stack import Stack, template
from tests.local.conftest import ROLE, Emulated, Hosted


class HostedStack(Stack):
    def __init__(self, hosted: Hosted, name: str) -> None:
        super().__init__(hosted.emulated, name)
        self._hosted = hosted

    def template(self, environment: dict[str, str], **model: Any) -> str:
        container = {"Image": self._hosted.image, "ModelDataUrl": self._hosted.archive, "Environment": environment}
        variant = {
            "VariantName": "AllTraffic",
            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
            # CloudFormation accepts numbers as text.
            "InitialInstanceCount": "1",
            "InitialVariantWeight": 1,
            "InstanceType": "ml.c6i.large",
        }
        resources = {
            "Model": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {"ExecutionRoleArn": ROLE, "PrimaryContainer": container, **model},
            },
            "Config": {"Type": "AWS::SageMaker::EndpointConfig", "Properties": {"ProductionVariants": [variant]}},
            "Endpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {
                    "EndpointName": self.name,
                    "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
                },
            },
        }
        outputs = {"ModelRef": {"Value": {"Ref": "Model"}}}
        return json.dumps({"Resources": resources, "Outputs": outputs})


@pytest.fixture
def stack(hosted: Hosted, unique: str) -> Iterator[HostedStack]:
    stack = HostedStack(hosted, unique)
    yield stack
    stack.delete()


def test_a_changed_environment_replaces_model_and_config_and_updates_the_endpoint_in_place(
    hosted: Hosted, stack: HostedStack
) -> None:
    assert stack.create(stack.template({"FAKE_VERSION": "a"})) == "complete"
    before = stack.ids()
    assert (
        stack.outputs()["ModelRef"]
        == before["Model"]
        == f"arn:aws:sagemaker:us-east-1:123456789012:model/{before['Model'].rpartition('/')[2]}"
    )
    assert hosted.ask(stack.name)["environment"]["FAKE_VERSION"] == "a"
    assert stack.update(stack.template({"FAKE_VERSION": "b"})) == "complete"
    after = stack.ids()
    assert after["Model"] != before["Model"]
    assert after["Config"] != before["Config"]
    assert after["Endpoint"] == before["Endpoint"]
    assert hosted.ask(stack.name)["environment"]["FAKE_VERSION"] == "b"
    models = hosted.emulated.client("sagemaker").list_models()["Models"]
    assert before["Model"] not in [model["ModelArn"] for model in models]


def test_a_container_that_fails_rolls_the_update_back_with_the_reason(hosted: Hosted, stack: HostedStack) -> None:
    assert stack.create(stack.template({"FAKE_VERSION": "a"})) == "complete"
    before, pid = stack.ids(), hosted.ask(stack.name)["pid"]
    assert stack.update(stack.template({"FAKE_START": "crash"})) == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot load the model: out of luck" in stack.reasons()
    assert stack.ids() == before
    assert hosted.ask(stack.name)["pid"] == pid


def test_a_container_that_fails_at_creation_leaves_no_endpoint_behind(hosted: Hosted, stack: HostedStack) -> None:
    assert stack.create(stack.template({"FAKE_START": "crash"})) == "ROLLBACK_COMPLETE"
    assert "cannot load the model: out of luck" in stack.reasons()
    assert hosted.gone(stack.name)
    names = [model["ModelName"] for model in hosted.emulated.client("sagemaker").list_models()["Models"]]
    assert not [name for name in names if name.startswith(stack.name)]


def test_a_model_with_a_literal_name_cannot_be_replaced(hosted: Hosted, stack: HostedStack) -> None:
    assert stack.create(stack.template({}, ModelName=stack.name)) == "complete"
    assert stack.update(stack.template({"FAKE_X": "1"}, ModelName=stack.name)) == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot update a stack when a custom-named resource requires replacing" in stack.reasons()


def test_a_property_that_the_api_does_not_know_is_refused(hosted: Hosted, stack: HostedStack) -> None:
    assert stack.create(stack.template({}, Colour="red")) == "ROLLBACK_COMPLETE"
    assert "Encountered unsupported property Colour" in stack.reasons()


def test_a_bucket_has_the_tags_of_its_template(emulated: Emulated, unique: str) -> None:
    stack = Stack(emulated, unique)

    def tags(value: str) -> dict[str, str]:
        bucket = {"Type": "AWS::S3::Bucket", "Properties": {"Tags": [{"Key": "colour", "Value": value}]}}
        change = stack.update if value == "blue" else stack.create
        assert change(template({"Bucket": bucket})) == "complete", stack.reasons()
        found = emulated.client("s3").get_bucket_tagging(Bucket=stack.ids()["Bucket"])["TagSet"]
        return {each["Key"]: each["Value"] for each in found if not each["Key"].startswith("aws:")}

    assert tags("red") == {"colour": "red"}
    assert tags("blue") == {"colour": "blue"}
    stack.delete()


def test_a_repository_that_was_kept_is_not_taken_over_by_the_next_stack_of_the_same_name(
    emulated: Emulated, unique: str
) -> None:
    stack, names = Stack(emulated, unique), []
    repository = {"Type": "AWS::ECR::Repository", "DeletionPolicy": "Retain", "Properties": {}}
    scanned = {**repository, "Properties": {"ImageScanningConfiguration": {"ScanOnPush": True}}}
    for _ in range(2):
        assert stack.create(template({"Repository": repository})) == "complete"
        names.append(stack.ids()["Repository"])
        assert stack.update(template({"Repository": scanned})) == "complete"
        assert stack.ids()["Repository"] == names[-1]
        stack.delete()
    assert names[0] != names[1]
    found = emulated.client("ecr").describe_repositories(repositoryNames=names)["repositories"]
    assert {each["repositoryName"] for each in found} == set(names)
