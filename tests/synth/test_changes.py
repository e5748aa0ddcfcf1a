"""What a change changes, property by property: it rebuilds exactly what it shapes, moves the endpoint then, and nothing
else does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stacks import container_build

from .conftest import ROOT, Synthesize, Template, Templates

SMALL = "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml"
QWEN = "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml"
IMAGE_BUILD = {"scoring: image build.Trigger", "scoring: image build.SourceLocation"}
MODEL_BUILD = {"scoring: model build.Trigger", "scoring: model build.SourceLocation"}


def properties(template: Template) -> dict[str, Any]:
    """`Type.Property` by logical id, and the outputs that tell something."""
    found = {}
    for id_, resource in template["Resources"].items():
        given = resource.get("Properties", {})
        type_ = resource["Type"].removeprefix("AWS::").replace("::", " ")
        name = f"{given['Kind']} build" if resource["Type"] == "Custom::BuildRun" else type_
        for property_, value in given.items():
            found[f"{id_} {name}.{property_}"] = value
        found[f"{id_} {name}.DeletionPolicy"] = resource.get("DeletionPolicy")
    return found


def changed(before: Templates, after: Templates) -> set[str]:
    """`stack: Type.Property` of everything that differs, is new or is gone."""
    found = set()
    for stack in before.keys() | after.keys():
        one, two = (properties(each[stack]) if stack in each else {} for each in (before, after))
        for key in one.keys() | two.keys():
            if key not in one or key not in two or one[key] != two[key]:
                found.add(f"{stack}: {key.partition(' ')[2]}")
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Not a repository: which commit a source is of has no part in these tests."""
    for folder in ("container", "model_packaging"):
        shutil.copytree(ROOT / folder, tmp_path / "one" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "one"


@pytest.fixture
def another(checkout: Path) -> Path:
    """Templates are made once for each folder."""
    return Path(shutil.copytree(checkout, checkout.with_name("another")))


def append(path: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        with (root / path).open("a") as file:
            file.write("\n# changed\n")

    return change


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("container/Dockerfile", IMAGE_BUILD),
        ("container/decision_server/app.py", IMAGE_BUILD),
        ("container/buildspec.yml", IMAGE_BUILD),
        (QWEN, MODEL_BUILD),
        ("model_packaging/archive.py", MODEL_BUILD),
        ("model_packaging/buildspec.yml", MODEL_BUILD),
        (SMALL, set()),
    ],
)
def test_a_changed_file_reruns_the_build_it_shapes_and_changes_nothing_else(
    synthesize: Synthesize, checkout: Path, another: Path, path: str, expected: set[str]
) -> None:
    append(path)(another)
    assert changed(synthesize("dev", root=checkout), synthesize("dev", root=another)) == expected


def test_a_new_base_image_reruns_the_image_build(
    synthesize: Synthesize, checkout: Path, another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = synthesize("dev", root=checkout)
    monkeypatch.setitem(container_build.BASE_IMAGES, "cpu", "public.ecr.aws/x/y@sha256:" + "0" * 64)
    assert changed(before, synthesize("dev", root=another)) == {
        "scoring: image build.Trigger",
        "scoring: image build.Variables",
    }


MODEL, CONFIG, ENDPOINT = "scoring: SageMaker Model", "scoring: SageMaker EndpointConfig", "scoring: SageMaker Endpoint"
SCALING = "scoring: ApplicationAutoScaling"
ALARM, POLICY = "scoring: CloudWatch Alarm", "scoring: IAM Policy.PolicyDocument"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/12345678-1234-1234-1234-123456789012"
DEV_INSTANCE = {"instance_type": "ml.c6i.2xlarge"}


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ({"engine": {"n_ctx": 2048}}, {f"{MODEL}.PrimaryContainer"}),
        ({"hosting": {"instance_type": "ml.c6i.4xlarge"}}, {f"{CONFIG}.ProductionVariants"}),
        ({"hosting": DEV_INSTANCE | {"startup_timeout_seconds": 900}}, {f"{CONFIG}.ProductionVariants"}),
        (
            {"update": {"blue_green": {"bake_seconds": 60, "termination_wait_seconds": 0}}},
            {f"{ENDPOINT}.DeploymentConfig"},
        ),
        (
            {"alarms": {"latency_p95_seconds": 20}},
            {f"{ALARM}.AlarmDescription", f"{ALARM}.Threshold", "scoring: CloudWatch Dashboard.DashboardBody"},
        ),
        ({"capture": {"sampling_percent": 5}}, {f"{CONFIG}.DataCaptureConfig", POLICY}),
        ({"bulk": {}}, {POLICY}),
    ],
    ids=["engine", "instance type", "timeout", "update", "alarms", "capture", "bulk"],
)
def test_a_setting_of_an_endpoint_changes_what_it_names_and_builds_nothing(
    synthesize: Synthesize, scoring: dict[str, Any], expected: set[str]
) -> None:
    assert changed(synthesize("dev"), synthesize("dev", scoring=scoring)) == expected


def test_scaling_is_added_beside_an_endpoint_that_stays_as_it_is(synthesize: Synthesize) -> None:
    found = changed(synthesize("dev"), synthesize("dev", scoring={"scaling": {"maximum": 3}}))
    assert {each for each in found if not each.startswith(SCALING)} == {f"{ENDPOINT}.RetainAllVariantProperties"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"log_retention_days": 90},
            {"builds: Logs LogGroup.RetentionInDays", "operations: Logs LogGroup.RetentionInDays"},
        ),
        ({"keys": {"volume": KEY}}, {f"{CONFIG}.KmsKeyId", POLICY}),
    ],
    ids=["logs", "volume key"],
)
def test_a_setting_of_the_environment_changes_what_it_names_and_builds_nothing(
    synthesize: Synthesize, changes: dict[str, Any], expected: set[str]
) -> None:
    assert changed(synthesize("dev"), synthesize("dev", changes=changes)) == expected


@pytest.mark.parametrize(
    ("changes", "stacks"),
    [
        ({"ephemeral": True}, {"artifacts"}),
        ({"notifications": {"emails": ["a@example.com"]}}, {"operations"}),
        ({"budget": {"monthly_usd": 5, "emails": ["a@example.com"]}}, {"operations"}),
        ({"network": {"vpc_id": "vpc-01234567", "subnet_ids": ["subnet-01234567"]}}, {"scoring"}),
        ({"notifications": {"topic_arn": "arn:aws:sns:eu-west-1:123456789012:x"}}, {"operations", "scoring"}),
    ],
    ids=["ephemeral", "emails", "budget", "network", "topic"],
)
def test_a_table_of_the_environment_changes_the_stacks_it_concerns_and_builds_nothing(
    synthesize: Synthesize, changes: dict[str, Any], stacks: set[str]
) -> None:
    found = changed(synthesize("dev"), synthesize("dev", changes=changes))
    assert {each.partition(":")[0] for each in found} == stacks
    assert not [each for each in found if " build." in each]
