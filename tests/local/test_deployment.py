"""The real app, deployed by the real cdk command line to the emulator: created, unchanged, changed in each way, broken,
beside a second environment, destroyed and made again.

Each test builds on the created app; they stand in the order that is cheapest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local import emulator_process
from local.commands import CommandFailed
from local.workspace import CHECKOUT, Workspace
from tests.local.conftest import Emulated, eventually
from tests.local.deployed_app import OTHER, App

pytestmark = [pytest.mark.deploys, pytest.mark.timeout(600)]


def test_one_deployment_runs_both_builds_and_the_endpoint_decides(created: App) -> None:
    assert set(created.stacks().values()) == {"CREATE_COMPLETE"}
    assert sorted(created.builds().values()) == ["SUCCEEDED", "SUCCEEDED"]
    endpoint = created.endpoint()
    assert endpoint["EndpointStatus"] == "InService"
    image = endpoint["ProductionVariants"][0]["DeployedImages"][0]
    assert image["SpecifiedImage"] == image["ResolvedImage"]
    assert "@sha256:" in image["SpecifiedImage"]
    created.decide()


def test_a_deployment_without_changes_builds_nothing_and_leaves_the_endpoint_alone(
    created: App, capsys: pytest.CaptureFixture[str]
) -> None:
    builds, endpoint = created.builds(), created.endpoint()
    created.deploy()
    assert created.builds() == builds
    assert created.endpoint() == endpoint
    assert "decision-local-scoring: no changes" in capsys.readouterr().out


def test_changed_scaling_and_alarm_limits_change_only_those(created: App) -> None:
    builds, endpoint = created.builds(), created.endpoint()
    created.change("scaling", "maximum", value=4)
    created.change("alarms", value={"latency_p95_seconds": 7})
    created.deploy()
    scaling = created.emulated.client("application-autoscaling")
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (target["ResourceId"], target["MinCapacity"], target["MaxCapacity"]) == (
        "endpoint/decision-local-scoring/variant/AllTraffic",
        2,
        4,
    )
    (latency,) = created.emulated.client("cloudwatch").describe_alarms(AlarmNames=["decision-local-scoring-latency"])[
        "MetricAlarms"
    ]
    assert latency["Threshold"] == 7_000_000
    assert (created.builds(), created.endpoint()) == (builds, endpoint)


def test_a_changed_engine_setting_builds_nothing_and_updates_the_endpoint_in_place(created: App) -> None:
    builds, before = created.builds(), created.endpoint()
    # As scaling would: an update keeps the number of instances that run.
    created.emulated.client("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName="decision-local-scoring",
        DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredInstanceCount": 3}],
    )
    created.change("engine", "max_decisions", value=8)
    created.deploy()
    after = created.endpoint()
    assert created.builds() == builds
    assert after["EndpointArn"] == before["EndpointArn"]
    assert after["EndpointConfigName"] != before["EndpointConfigName"]
    assert after["ProductionVariants"][0]["DesiredInstanceCount"] == 3
    assert created.model()["Environment"]["DECISION_MAX_DECISIONS"] == "8"
    created.decide()


def test_changed_container_source_builds_one_image_and_updates_the_endpoint_in_place(created: App) -> None:
    builds, before, image, model = created.builds(), created.endpoint(), created.image(), created.model()
    created.append("container/decision_server/app.py", "\n# a changed line\n")
    created.deploy()
    new = created.builds().keys() - builds.keys()
    assert len(new) == 1
    assert "Image" in next(iter(new))
    after = created.endpoint()
    assert after["EndpointArn"] == before["EndpointArn"]
    assert after["EndpointConfigName"] != before["EndpointConfigName"]
    assert created.image() != image
    assert created.model()["ModelDataUrl"] == model["ModelDataUrl"]
    created.decide()


def test_another_declaration_packages_one_model_and_updates_the_endpoint_in_place(created: App) -> None:
    builds, image, model, answer = created.builds(), created.image(), created.model(), created.decide()
    created.change("model", "declaration", value=OTHER)
    created.deploy()
    new = created.builds().keys() - builds.keys()
    assert len(new) == 1
    assert "Model" in next(iter(new))
    assert created.image() == image
    assert created.model()["ModelDataUrl"] != model["ModelDataUrl"]
    assert created.decide() != answer


def test_a_broken_build_rolls_back_with_its_reason_on_the_screen(
    created: App, capsys: pytest.CaptureFixture[str]
) -> None:
    builds, endpoint = created.builds(), created.endpoint()
    file = created.workspace.root / "container/decision_server/app.py"
    source = file.read_text()
    file.write_text(source + "\nthis is no Python\n")
    with pytest.raises(CommandFailed):
        created.up()
    file.write_text(source)
    screen = capsys.readouterr().out
    assert "self-check: decision_server/app.py, line" in screen
    assert "invalid syntax" in screen
    assert "Error while executing command: python3 container/image_build.py build. Reason: exit status 1" in screen
    new = created.builds().keys() - builds.keys()
    assert [created.builds()[each] for each in new] == ["FAILED"]
    assert created.stacks()["decision-local-scoring"] == "UPDATE_ROLLBACK_COMPLETE"
    assert created.endpoint() == endpoint
    created.decide()


def test_an_endpoint_that_does_not_get_well_rolls_back_with_its_reason_on_the_screen(
    created: App, capsys: pytest.CaptureFixture[str]
) -> None:
    builds, endpoint, answer = created.builds(), created.endpoint(), created.decide()
    created.change("engine", "n_ctx", value=1048576)  # more than the model can
    with pytest.raises(CommandFailed):
        created.up()
    screen = capsys.readouterr().out
    assert "did not pass the ping health check" in screen
    assert "n_ctx" in screen
    assert created.builds() == builds
    assert created.stacks()["decision-local-scoring"] == "UPDATE_ROLLBACK_COMPLETE"
    after = created.endpoint()
    assert after["EndpointStatus"] == "InService"
    assert after["EndpointConfigName"] == endpoint["EndpointConfigName"]
    assert created.decide() == answer
    created.change("engine", "n_ctx", value=1024)


def test_a_first_deployment_that_fails_leaves_the_log_that_says_why_until_the_endpoint_is_taken_out(
    created: App,
) -> None:
    builds, name = created.builds(), "decision-local-broken"
    created.add("broken", engine={"n_ctx": 1048576})  # more than the model can
    with pytest.raises(CommandFailed):
        created.up()
    endpoint = created.endpoint()  # beside the broken one, with whatever the test before left to be deployed
    assert created.stacks()[name] == "ROLLBACK_COMPLETE"
    logs = created.emulated.client("logs")
    group = f"/aws/sagemaker/Endpoints/{name}"
    lines = [each["message"] for each in logs.filter_log_events(logGroupName=group)["events"]]
    assert any("n_ctx" in line and "load_failed" in line for line in lines)
    cloudformation = created.emulated.client("cloudformation")
    cloudformation.delete_stack(StackName=name)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    created.remove("broken")
    created.deploy()
    assert logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"] == []
    assert (created.builds(), created.endpoint()) == (builds, endpoint)


def test_a_second_environment_stands_beside_the_first_and_leaves_nothing_when_it_is_destroyed(created: App) -> None:
    before, first = remaining(created.emulated), created.endpoint()
    second = created.of("second")
    second.deploy()
    # Two endpoints of one declaration share its archive; the standard one copies AWS's image.
    assert sorted(name.split("-")[3][:5] for name in second.builds()) == ["Image", "Image", "Model"]
    assert set(second.builds().values()) == {"SUCCEEDED"}
    assert second.decide()
    chat = second.invoke("text", {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8})
    assert chat["object"] == "chat.completion"
    assert chat["choices"][0]["message"]["content"]
    assert created.endpoint() == first
    created.decide()
    assert second.left_by_destroy() == set()
    second.destroy()
    assert second.stacks() == {}
    assert remaining(created.emulated) == before
    created.decide()


def test_destroy_leaves_exactly_what_its_output_lists_and_a_new_deployment_stands_beside_it(
    created: App, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = created.left_by_destroy()
    created.destroy()
    screen = capsys.readouterr().out
    assert len(listed) == 2
    assert all(f"{name} (" in screen for name in listed)
    assert created.stacks() == {}
    assert {name for name in remaining(created.emulated) if "decision-local" in name} == listed
    created.deploy()
    assert set(created.stacks().values()) == {"CREATE_COMPLETE"}
    assert not created.left_by_destroy() & listed
    created.decide()
    again = created.left_by_destroy()
    created.destroy()
    assert {name for name in remaining(created.emulated) if "decision-local" in name} == listed | again


def remaining(emulated: Emulated) -> set[str]:
    """The names of everything of the kinds that the app makes."""
    client = emulated.client
    names: list[str] = [bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]]
    names += [each["repositoryName"] for each in client("ecr").describe_repositories()["repositories"]]
    names += client("codebuild").list_projects()["projects"]
    names += [each["FunctionName"] for each in client("lambda").list_functions()["Functions"]]
    names += [each["RoleName"] for each in client("iam").list_roles()["Roles"]]
    names += [each["name"] for each in client("stepfunctions").list_state_machines()["stateMachines"]]
    names += [each["logGroupName"] for each in client("logs").describe_log_groups()["logGroups"]]
    names += [each["TopicArn"] for each in client("sns").list_topics()["Topics"]]
    cloudwatch = client("cloudwatch")
    names += [each["AlarmName"] for each in cloudwatch.describe_alarms()["MetricAlarms"]]
    names += [each["DashboardName"] for each in cloudwatch.list_dashboards()["DashboardEntries"]]
    scaling = client("application-autoscaling")
    names += [
        each["ResourceId"]
        for each in scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    ]
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
