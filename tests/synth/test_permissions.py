"""F11: who may do what. No `*` action, next to no `*` resource, the model after its role's policy. The endpoint's role,
statement by statement, is in test_execution_role.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Synthesize, Template, Templates, only, resources

ENVIRONMENTS = ["local", "dev", "staging", "prod"]
TOKEN_CALLS = {"ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements(template: Template, role: str) -> list[dict[str, Any]]:
    """Of every policy that is attached to a role whose logical id begins with `role`."""
    return [
        statement
        for policy in resources(template, "AWS::IAM::Policy")
        if policy["Properties"]["Roles"][0]["Ref"].startswith(role)
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def actions(template: Template, role: str) -> set[str]:
    return {action for each in statements(template, role) for action in as_list(each["Action"])}


def everyones(templates: Templates) -> list[dict[str, Any]]:
    return [each for template in templates.values() for each in statements(template, "")]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_statement_allows_a_star_action(synthesize: Synthesize, name: str) -> None:
    allowed = everyones(synthesize(name))
    assert allowed
    for statement in allowed:
        assert not [action for action in as_list(statement["Action"]) if "*" in action], statement


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_star_resource_stands_for_registry_tokens_and_the_instances_figures_only(
    synthesize: Synthesize, name: str
) -> None:
    starred = [each for each in everyones(synthesize(name)) if "*" in as_list(each["Resource"])]
    assert starred
    for statement in starred:
        if statement["Action"] == "cloudwatch:PutMetricData":
            assert set(statement["Condition"]["StringEquals"]) == {"cloudwatch:namespace"}
        else:
            assert set(as_list(statement["Action"])) <= TOKEN_CALLS


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_role_has_a_managed_policy(synthesize: Synthesize, name: str) -> None:
    for template in synthesize(name).values():
        for role in resources(template, "AWS::IAM::Role"):
            assert "ManagedPolicyArns" not in role["Properties"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_codebuild_and_sagemaker_take_a_role_on_for_resources_of_this_account_only(
    synthesize: Synthesize, name: str
) -> None:
    services = set()
    for template in synthesize(name).values():
        for role in resources(template, "AWS::IAM::Role"):
            (trust,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            service = trust["Principal"]["Service"]
            if service in ("codebuild.amazonaws.com", "sagemaker.amazonaws.com"):
                services.add(service)
                assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert services == {"codebuild.amazonaws.com", "sagemaker.amazonaws.com"}


def test_the_model_is_made_after_its_roles_policy(synthesize: Synthesize) -> None:
    endpoint = synthesize("dev")["scoring"]
    (policy,) = [name for name, each in endpoint["Resources"].items() if each["Type"] == "AWS::IAM::Policy"]
    assert policy in only(endpoint, "AWS::SageMaker::Model")["DependsOn"]


def test_each_build_writes_its_own_kind_of_result_only(synthesize: Synthesize) -> None:
    builds = synthesize("dev")["builds"]
    for role, own in (("ModelBuildRole", "/results/model-*"), ("ImageBuildRole", "/results/image-*")):
        resources_ = json.dumps([each["Resource"] for each in statements(builds, role)])
        assert own in resources_
        assert resources_.count("/results/") == 1
    assert not [action for action in actions(builds, "ModelBuildRole") if action.startswith("ecr")]
    assert "ecr:PutImage" in actions(builds, "ImageBuildRole")


def test_a_build_reads_its_source_from_the_bootstrap_bucket_and_nothing_else_there(synthesize: Synthesize) -> None:
    builds = synthesize("dev")["builds"]
    for role in ("ModelBuildRole", "ImageBuildRole"):
        (read,) = [each for each in statements(builds, role) if "s3:GetObjectVersion" in as_list(each["Action"])]
        assert read["Resource"]["Fn::Join"][1][-2:] == [
            {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"},
            "/*.zip",
        ]


def test_only_the_image_build_runs_privileged(synthesize: Synthesize) -> None:
    projects = resources(synthesize("dev")["builds"], "AWS::CodeBuild::Project")
    privileged = {
        each["Properties"]["Source"]["BuildSpec"]: each["Properties"]["Environment"]["PrivilegedMode"]
        for each in projects
    }
    assert privileged == {"container/buildspec.yml": True, "model_packaging/buildspec.yml": False}


def test_the_handler_starts_the_two_builds_and_reads_what_they_left(synthesize: Synthesize) -> None:
    builds = synthesize("dev")["builds"]
    assert actions(builds, "BuildRunHandlerRole") == {
        "codebuild:BatchGetBuilds",
        "codebuild:StartBuild",
        "ecr:DescribeImages",
        "logs:CreateLogStream",
        "logs:GetLogEvents",
        "logs:PutLogEvents",
        "s3:DeleteObject",
        "s3:GetObject",
        "s3:ListBucket",
    }
