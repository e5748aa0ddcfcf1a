"""CodeBuild of the emulator, through boto3: a buildspec's phases run as CodeBuild runs them."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.emulator import role_sessions
from local.emulator.build_runner import BuildRun, BuildTools
from local.emulator.scope import Scope
from tests.local.conftest import Emulated, eventually
from tests.local.test_sagemaker_plane import alive

Build = dict[str, Any]


class Project:
    """A CodeBuild project of one test, and the builds it starts."""

    def __init__(self, emulated: Emulated, name: str) -> None:
        self._emulated, self._name = emulated, name
        self.codebuild = emulated.client("codebuild")
        emulated.client("s3").create_bucket(Bucket=name)
        self.codebuild.create_project(
            name=name,
            source={"type": "NO_SOURCE", "buildspec": "version: 0.2\nphases: {build: {commands: [echo nothing]}}\n"},
            artifacts={"type": "NO_ARTIFACTS"},
            environment={
                "type": "LINUX_CONTAINER",
                "image": "aws/codebuild/standard:7.0",
                "computeType": "BUILD_GENERAL1_SMALL",
                "environmentVariables": [{"name": name, "value": "project"} for name in ("FROM_PROJECT", "FROM_START")],
            },
            serviceRole="arn:aws:iam::123456789012:role/build",
        )

    def source(self, files: dict[str, str]) -> str:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        self._emulated.client("s3").put_object(Bucket=self._name, Key="source.zip", Body=content.getvalue())
        return f"{self._name}/source.zip"

    def start(self, buildspec: str, **overrides: Any) -> str:
        build = self.codebuild.start_build(projectName=self._name, buildspecOverride=buildspec, **overrides)["build"]
        return str(build["id"])

    def run(self, buildspec: str, **overrides: Any) -> Build:
        return self.ended(self.start(buildspec, **overrides))

    def ended(self, build_id: str) -> Build:
        def complete() -> Build | None:
            build: Build = self.codebuild.batch_get_builds(ids=[build_id])["builds"][0]
            return build if build["buildStatus"] != "IN_PROGRESS" else None

        result: Build = eventually(complete)
        return result

    def log(self, build: Build) -> list[str]:
        place = build["logs"]
        events = self._emulated.client("logs").get_log_events(
            logGroupName=place["groupName"], logStreamName=place["streamName"], startFromHead=True
        )["events"]
        return [event["message"] for event in events]


@pytest.fixture
def project(emulated: Emulated, unique: str) -> Project:
    return Project(emulated, unique)


def spec(phases: dict[str, Any], **env: Any) -> str:
    return json.dumps({"version": "0.2", "env": env, "phases": phases})


def states(build: Build) -> dict[str, str]:
    return {phase["phaseType"]: phase.get("phaseStatus", "") for phase in build["phases"]}


def test_exported_variables_and_the_folder_reach_later_commands_and_phases(project: Project) -> None:
    build = project.run(
        spec(
            {
                "install": {"commands": ['export WORD="it\'s $HOME"', 'mkdir -p "a b\'s/c" && cd "a b\'s/c"']},
                "build": {"commands": ['echo "<$WORD> in $(basename "$PWD")"']},
            }
        )
    )
    assert build["buildStatus"] == "SUCCEEDED"
    assert any(line.startswith("<it's /") and line.endswith("> in c") for line in project.log(build))


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_failed_command_ends_its_phase_and_is_named_with_its_status(project: Project, shell: str) -> None:
    build = project.run(spec({"build": {"commands": ["echo first", "exit 3", "echo never"]}}, shell=shell))
    assert build["buildStatus"] == "FAILED"
    failed = next(phase for phase in build["phases"] if phase["phaseType"] == "BUILD")
    assert failed["contexts"] == [
        {
            "statusCode": "COMMAND_EXECUTION_ERROR",
            "message": "Error while executing command: exit 3. Reason: exit status 3",
        }
    ]
    log = project.log(build)
    assert "first" in log
    assert "never" not in log


def test_a_script_of_several_lines_goes_on_after_a_failing_line_as_a_shell_does(project: Project) -> None:
    build = project.run(spec({"build": {"commands": ["false\necho still here"]}}))
    assert build["buildStatus"] == "SUCCEEDED"
    assert "still here" in project.log(build)


def test_post_build_runs_after_a_failed_build_and_is_told_so(project: Project) -> None:
    said = "echo succeeding=$CODEBUILD_BUILD_SUCCEEDING"
    build = project.run(
        spec({"pre_build": {"commands": [said]}, "build": {"commands": ["false"]}, "post_build": {"commands": [said]}})
    )
    assert build["buildStatus"] == "FAILED"
    assert [line for line in project.log(build) if line.startswith("succeeding=")] == ["succeeding=1", "succeeding=0"]


@pytest.mark.parametrize("phase", ["install", "pre_build"])
def test_a_failure_before_the_build_ends_everything(project: Project, phase: str) -> None:
    rest = {"build": {"commands": ["echo never"]}, "post_build": {"commands": ["echo never"]}}
    build = project.run(spec({phase: {"commands": ["false"]}, **rest}))
    assert states(build)[phase.upper()] == "FAILED"
    assert not states(build).keys() & {"BUILD", "POST_BUILD"}


def test_finally_runs_after_a_failure_too(project: Project) -> None:
    build = project.run(spec({"pre_build": {"commands": ["false"], "finally": ["echo cleaned up"]}}))
    assert build["buildStatus"] == "FAILED"
    assert "cleaned up" in project.log(build)


def test_on_failure_decides_whether_the_build_goes_on(project: Project) -> None:
    phases = {"build": {"commands": ["false"]}, "post_build": {"commands": ["true"]}}
    aborted = project.run(spec({**phases, "build": {"commands": ["false"], "on-failure": "ABORT"}}))
    continued = project.run(spec({**phases, "build": {"commands": ["false"], "on-failure": "CONTINUE"}}))
    assert (aborted["buildStatus"], "POST_BUILD" in states(aborted)) == ("FAILED", False)
    assert (continued["buildStatus"], states(continued)["POST_BUILD"]) == ("SUCCEEDED", "SUCCEEDED")


def test_variables_of_the_start_win_over_the_project_s_and_those_over_the_buildspec_s(project: Project) -> None:
    names = ("FROM_SPEC", "FROM_PROJECT", "FROM_START")
    build = project.run(
        spec(
            {"build": {"commands": [f"echo {' '.join('$' + name for name in names)}"]}},
            variables=dict.fromkeys(names, "spec"),
        ),
        environmentVariablesOverride=[{"name": "FROM_START", "value": "start", "type": "PLAINTEXT"}],
    )
    assert "spec project start" in project.log(build)


def test_builds_that_run_at_once_keep_their_variables_apart(project: Project) -> None:
    waits = spec({"build": {"commands": ["export MINE=$FROM_START", "sleep 0.3", "echo mine=$MINE"]}})
    ids = [
        project.start(
            waits, environmentVariablesOverride=[{"name": "FROM_START", "value": str(number), "type": "PLAINTEXT"}]
        )
        for number in range(4)
    ]
    for number, build_id in enumerate(ids):
        build = project.ended(build_id)
        assert [line for line in project.log(build) if line.startswith("mine=")] == [f"mine={number}"]


def test_the_source_and_its_buildspec_come_from_s3(project: Project) -> None:
    location = project.source(
        {"part/buildspec.yml": spec({"build": {"commands": ["cat part/text"]}}), "part/text": "content"}
    )
    build = project.run("part/buildspec.yml", sourceTypeOverride="S3", sourceLocationOverride=location)
    assert "content" in project.log(build)
    assert build["buildStatus"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("buildspec", "files", "reason"),
    [
        ("missing.yml", {"other": "x"}, "the source holds no file missing.yml"),
        ("../buildspec.yml", {"other": "x"}, "the source holds no file ../buildspec.yml"),
        ("b.yml", {"b.yml": "version: 0.2\nphases: {build: {comands: [true]}}"}, "phases.build has comands"),
        (
            "b.yml",
            {"b.yml": "version: 0.2\nphases:\n  build:\n    commands:\n      - echo a: b\n"},
            "to be of string type",
        ),
        ("b.yml", {"b.yml": "version: 0.1\nphases: {build: {commands: ['true']}}"}, "0.2 is the one version emulated"),
        ("b.yml", {"b.yml": "version: 0.2\nphases: {build: {commands: []}}\nartifacts: {}"}, "has artifacts"),
        (
            "b.yml",
            {"b.yml": "version: 0.2\nenv: {parameter-store: {A: /none}}\nphases: {build: {commands: []}}"},
            "/none",
        ),
        ("b.yml", {"b.yml": "a: b: c"}, "YAML_FILE_ERROR"),
        ("b.yml", {"../b.yml": "x"}, "points outside the source"),
    ],
)
def test_a_source_that_cannot_be_built_fails_with_the_reason(
    project: Project, buildspec: str, files: dict[str, str], reason: str
) -> None:
    build = project.run(buildspec, sourceTypeOverride="S3", sourceLocationOverride=project.source(files))
    assert build["buildStatus"] == "FAILED"
    assert states(build)["DOWNLOAD_SOURCE"] == "FAILED"
    assert any(reason in line for line in project.log(build))


def test_secrets_of_the_parameter_store_reach_the_build_and_are_hidden_in_its_log(
    project: Project, emulated: Emulated, unique: str
) -> None:
    emulated.client("ssm").put_parameter(Name=f"/{unique}/key", Value="hunter2-hunter2", Type="SecureString")
    build = project.run(
        spec({"build": {"commands": ["echo the key is $KEY, its length ${#KEY}"]}}),
        environmentVariablesOverride=[{"name": "KEY", "value": f"/{unique}/key", "type": "PARAMETER_STORE"}],
    )
    assert "the key is ***, its length 15" in project.log(build)
    files = (emulated.workspace.logs / "builds").glob(f"{unique}-*.log")
    assert not any("hunter2" in file.read_text() for file in files)


def test_a_build_sees_the_emulator_and_no_credentials_of_the_developer(project: Project, emulated: Emulated) -> None:
    build = project.run(spec({"build": {"commands": ["env"]}}))
    log = project.log(build)
    assert f"AWS_ENDPOINT_URL={emulated.url}" in log
    assert "AWS_ACCESS_KEY_ID=testing" in log
    assert not any("a-secret-of-the-developer" in line for line in log)


def test_a_stopped_build_ends_with_all_it_started(project: Project) -> None:
    build_id = project.start(spec({"build": {"commands": ["sleep 600 & echo child=$!; wait"]}}))

    def child() -> int | None:
        build = project.codebuild.batch_get_builds(ids=[build_id])["builds"][0]
        lines = project.log(build) if build["currentPhase"] == "BUILD" else []
        return next((int(line[6:]) for line in lines if line.startswith("child=")), None)

    pid = eventually(child)
    project.codebuild.stop_build(id=build_id)
    assert project.ended(build_id)["buildStatus"] == "STOPPED"
    assert not alive(pid)


def test_the_same_token_starts_one_build(project: Project, unique: str) -> None:
    waits = spec({"build": {"commands": ["true"]}})
    first, second = (project.start(waits, idempotencyToken=unique) for _ in range(2))
    assert first == second
    project.ended(first)


def test_a_build_of_no_project_is_refused(emulated: Emulated) -> None:
    with pytest.raises(ClientError, match="Project cannot be found: nobody"):
        emulated.client("codebuild").start_build(projectName="nobody")


def test_a_build_past_its_time_limit_ends_with_all_it_started(tmp_path: Path) -> None:
    lines: list[str] = []
    build = run_alone(tmp_path, lines.append, commands=["sleep 600 & echo child=$!; wait"], minutes=0.01)
    assert build["buildStatus"] == "TIMED_OUT"
    assert states(build)["BUILD"] == "TIMED_OUT"
    pid = int(next(line for line in lines if line.startswith("child="))[6:])
    assert not alive(pid)


def test_a_build_leaves_no_files_behind(tmp_path: Path) -> None:
    build = run_alone(tmp_path, lambda line: None, commands=["echo x > file"], minutes=1)
    assert build["buildStatus"] == "SUCCEEDED"
    assert list((tmp_path / "work").iterdir()) == []


def test_what_a_build_s_tools_leave_in_the_temporary_folder_goes_with_it(tmp_path: Path) -> None:
    lines: list[str] = []
    build = run_alone(tmp_path, lines.append, commands=['echo "left=$(mktemp)"', "exit 1"], minutes=1)
    assert build["buildStatus"] == "FAILED"
    left = Path(next(line for line in lines if line.startswith("left="))[5:])
    assert left.is_relative_to(tmp_path / "work")
    assert not left.exists()


def run_alone(folder: Path, write: Callable[[str], None], *, commands: list[str], minutes: float) -> Build:
    """One build without an emulator around it."""
    lock = threading.Lock()

    def locked(line: str) -> None:
        with lock:
            write(line)

    def nothing(*_: str) -> Any:
        raise AssertionError("not needed")

    tools = BuildTools(
        work=folder / "work",
        logs=folder / "logs",
        base_env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)},
        tool_path=(),
        url="http://127.0.0.1:1",
        cache=folder,
        open_as=lambda role, session: nothing,
        credentials=role_sessions.of_the_account,
        secret=nothing,
        log_writer=lambda scope, group, stream: locked,
    )
    build: Build = {
        "id": "project:build",
        "arn": "arn",
        "buildNumber": 1,
        "initiator": "test",
        "phases": [],
        "logs": {"groupName": "group", "streamName": "stream"},
    }
    project = {
        "source": {"type": "NO_SOURCE", "buildspec": spec({"build": {"commands": commands}})},
        "timeoutInMinutes": minutes,
        "serviceRole": "arn:aws:iam::123456789012:role/build",
    }
    BuildRun(tools, Scope(account="123456789012", region="us-east-1"), project, build).run()
    return build
