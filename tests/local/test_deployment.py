"""The real app, deployed by the real cdk command line to the emulator: created, unchanged, changed, broken, destroyed.

Each test builds on the created app alone; they stand in the order that is cheapest.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local import commands, emulator_process
from local.commands import CommandFailed
from local.console import Console
from local.demo import SUPPORT_ROUTE
from local.workspace import CHECKOUT, Workspace
from tests.local.conftest import Emulated, eventually

pytestmark = [pytest.mark.deploys, pytest.mark.timeout(600)]
PARTS = ("stacks", "container", "model_packaging")
FILES = ("app.py", "cdk.json")


@dataclass(frozen=True, kw_only=True)
class App:
    """A copy of this checkout's app, so that a test can change it."""

    emulated: Emulated
    workspace: Workspace

    def up(self) -> commands.Deployment:
        return commands.up(self.workspace, port=None, console=Console())

    def builds(self) -> dict[str, str]:
        """Build id → status."""
        codebuild = self.emulated.client("codebuild")
        ids = [each for each in codebuild.list_builds()["ids"] if each.startswith("decision-local-")]
        return (
            {each["id"]: each["buildStatus"] for each in codebuild.batch_get_builds(ids=ids)["builds"]} if ids else {}
        )

    def endpoint(self) -> dict[str, Any]:
        described: dict[str, Any] = self.emulated.client("sagemaker").describe_endpoint(
            EndpointName="decision-local-scoring"
        )
        del described["ResponseMetadata"]
        return described

    def stacks(self) -> dict[str, str]:
        found = self.emulated.client("cloudformation").describe_stacks()["Stacks"]
        return {
            each["StackName"]: each["StackStatus"] for each in found if each["StackName"].startswith("decision-local-")
        }

    def decide(self) -> list[float]:
        response = self.emulated.client("sagemaker-runtime").invoke_endpoint(
            EndpointName="decision-local-scoring",
            ContentType="application/json",
            Body=json.dumps({"decision": SUPPORT_ROUTE}),
        )
        probabilities: list[float] = json.loads(response["Body"].read())["result"]["probabilities"]
        return probabilities

    def append(self, path: str, text: str) -> None:
        with (self.workspace.root / path).open("a") as file:
            file.write(text)


@pytest.fixture(scope="module")
def created(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("app")
    for part in PARTS:
        shutil.copytree(CHECKOUT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(CHECKOUT / file, root / file)
    app = App(emulated=emulated, workspace=Workspace(root=root, name=emulated.workspace.name))
    app.up()
    return app


def test_one_deployment_runs_both_builds_and_the_endpoint_decides(created: App) -> None:
    assert set(created.stacks().values()) == {"CREATE_COMPLETE"}
    assert sorted(created.builds().values()) == ["SUCCEEDED", "SUCCEEDED"]
    endpoint = created.endpoint()
    assert endpoint["EndpointStatus"] == "InService"
    image = endpoint["ProductionVariants"][0]["DeployedImages"][0]
    assert image["SpecifiedImage"] == image["ResolvedImage"]
    assert "@sha256:" in image["SpecifiedImage"]
    assert math.fsum(created.decide()) == pytest.approx(1.0, abs=1e-9)


def test_a_deployment_without_changes_builds_nothing_and_leaves_the_endpoint_alone(
    created: App, capsys: pytest.CaptureFixture[str]
) -> None:
    builds, endpoint = created.builds(), created.endpoint()
    created.up()
    assert created.builds() == builds
    assert created.endpoint() == endpoint
    assert "decision-local-scoring: no changes" in capsys.readouterr().out


def test_changed_container_source_builds_one_image_and_updates_the_endpoint_in_place(created: App) -> None:
    builds, before = created.builds(), created.endpoint()
    created.append("container/decision_server/app.py", "\n# a changed line\n")
    created.up()
    new = created.builds().keys() - builds.keys()
    assert len(new) == 1
    assert "Image" in next(iter(new))
    after = created.endpoint()
    assert after["EndpointArn"] == before["EndpointArn"]
    assert after["EndpointConfigName"] != before["EndpointConfigName"]
    images = [each["ProductionVariants"][0]["DeployedImages"][0]["ResolvedImage"] for each in (before, after)]
    assert images[0] != images[1]
    assert math.fsum(created.decide()) == pytest.approx(1.0, abs=1e-9)


def test_a_broken_build_rolls_back_with_its_reason_on_the_screen(
    created: App, capsys: pytest.CaptureFixture[str]
) -> None:
    builds, endpoint = created.builds(), created.endpoint()
    created.append("container/decision_server/app.py", "\nthis is no Python\n")
    with pytest.raises(CommandFailed):
        created.up()
    screen = capsys.readouterr().out
    assert "self-check: decision_server/app.py, line" in screen
    assert "invalid syntax" in screen
    assert "Error while executing command: python3 container/image_build.py build. Reason: exit status 1" in screen
    new = created.builds().keys() - builds.keys()
    assert [created.builds()[each] for each in new] == ["FAILED"]
    assert created.stacks()["decision-local-scoring"] == "UPDATE_ROLLBACK_COMPLETE"
    assert created.endpoint() == endpoint
    assert math.fsum(created.decide()) == pytest.approx(1.0, abs=1e-9)


def test_destroy_leaves_only_what_is_retained_and_says_so(created: App, capsys: pytest.CaptureFixture[str]) -> None:
    artifacts = created.emulated.client("cloudformation").describe_stack_resources(StackName="decision-local-artifacts")
    kept = {
        each["PhysicalResourceId"]
        for each in artifacts["StackResources"]
        if each["ResourceType"] in ("AWS::S3::Bucket", "AWS::ECR::Repository")
    }
    commands.destroy(created.workspace, created.emulated.url, console=Console())
    screen = capsys.readouterr().out
    assert len(kept) == 2
    assert all(f"{name} (" in screen for name in kept)
    assert created.stacks() == {}
    assert {name for name in remaining(created.emulated) if name.startswith("decision-local-")} == kept


def remaining(emulated: Emulated) -> set[str]:
    """The names of everything of the kinds that the app makes."""
    client = emulated.client
    names: list[str] = [bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]]
    names += [each["repositoryName"] for each in client("ecr").describe_repositories()["repositories"]]
    names += client("codebuild").list_projects()["projects"]
    names += [each["FunctionName"] for each in client("lambda").list_functions()["Functions"]]
    names += [each["RoleName"] for each in client("iam").list_roles()["Roles"]]
    names += [each["name"] for each in client("stepfunctions").list_state_machines()["stateMachines"]]
    sagemaker = client("sagemaker")
    names += [each["EndpointName"] for each in sagemaker.list_endpoints()["Endpoints"]]
    names += [each["EndpointConfigName"] for each in sagemaker.list_endpoint_configs()["EndpointConfigs"]]
    names += [each["ModelName"] for each in sagemaker.list_models()["Models"]]
    return set(names)


def test_a_demo_that_is_told_to_end_leaves_nothing_running(tmp_path: Path) -> None:
    workspace = Workspace(root=CHECKOUT, name=f"tests-demo-{os.getpid()}")
    command = [sys.executable, "-m", "local", "--state", workspace.name, "demo"]
    log = tmp_path / "screen"
    with log.open("wb") as screen, subprocess.Popen(command, cwd=CHECKOUT, stdout=screen, stderr=screen) as demo:
        eventually(lambda: "cdk bootstrap" in log.read_text(), seconds=90)
        running = emulator_process.find(workspace)
        assert running is not None
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(60) == 130
    assert "demo: interrupted" in log.read_text()
    assert emulator_process.find(workspace) is None
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
    assert not workspace.state.exists()
