"""Runs one build: source, buildspec, phases, log, time limit. Writes its progress into the build's record as
CodeBuild reports it.

Order of phases as CodeBuild documents it: a failure in install or pre_build ends the build; after a failed build
phase post_build still runs, with CODEBUILD_BUILD_SUCCEEDING=0; on-failure ABORT ends the build, CONTINUE goes on as
if nothing had failed.
"""

from __future__ import annotations

import functools
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.emulator import build_environment, build_source, phase_shell
from local.emulator.build_environment import ReadSecret
from local.emulator.build_source import PhaseFailed
from local.emulator.buildspec import Buildspec, Phase
from local.emulator.leashed_process import LeashedProcess
from local.emulator.log_sink import LineWriter, LogSink
from local.emulator.model_data import OpenObject
from local.emulator.role_sessions import Credentials
from local.emulator.scope import Scope

GRACE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class BuildTools:
    work: Path
    logs: Path
    base_env: Mapping[str, str]
    tool_path: tuple[Path, ...]
    url: str
    cache: Path
    open_as: Callable[[str, str], OpenObject]
    credentials: Credentials
    secret: ReadSecret
    log_writer: Callable[[Scope, str, str], LineWriter]


class BuildStopped(Exception):
    """StopBuild was called, or the emulator ends."""


class BuildTimedOut(Exception):
    """The project's time limit passed."""


class BuildRun:
    """One build on one thread. project: the project with this build's overrides applied."""

    def __init__(self, tools: BuildTools, scope: Scope, project: dict[str, Any], build: dict[str, Any]) -> None:
        self._tools, self._scope, self._project, self._build = tools, scope, project, build
        self._stopped = threading.Event()
        self._deadline = time.monotonic() + 60.0 * float(project.get("timeoutInMinutes") or 60)
        self._folder = tools.work / build["id"].rpartition(":")[2]
        self._source = self._folder / "src"
        logs = build["logs"]
        self._sink = LogSink(
            path=tools.logs / "builds" / f"{build['id'].replace(':', '-')}.log",
            also=tools.log_writer(scope, logs["groupName"], logs["streamName"]),
        )

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        """Never raises: whatever happens is the build's status."""
        status = "FAULT"
        try:
            status = self._run_all()
        except BuildStopped:
            status = "STOPPED"
        except BuildTimedOut:
            status = "TIMED_OUT"
            self._sink.write(f"[Container] Build timed out after {self._project.get('timeoutInMinutes')} minutes")
        except Exception as error:  # noqa: BLE001 - a fault of this emulator must end the build, visibly
            self._sink.write(f"[Container] fault of the emulator: {type(error).__name__}: {error}")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._finish(status)
            self._sink.close()

    def _run_all(self) -> str:
        if not self._guarded("DOWNLOAD_SOURCE", self._prepare):
            return "FAILED"
        return "SUCCEEDED" if self._run_phases(self._spec, self._env) else "FAILED"

    def _prepare(self) -> None:
        self._spec = build_source.fetch(
            self._project.get("source") or {},
            self._folder,
            self._source,
            self._tools.open_as(self._project["serviceRole"], "AWSCodeBuild"),
        )
        try:
            env = build_environment.compose(
                spec=self._spec,
                build=self._build,
                declared=self._project.get("environment", {}).get("environmentVariables") or [],
                base={**self._tools.base_env, "TMPDIR": str(self._temporary())},
                scope=self._scope,
                credentials=self._tools.credentials(self._project["serviceRole"], "AWSCodeBuild"),
                url=self._tools.url,
                source=self._source,
                tool_path=self._tools.tool_path,
                cache=self._tools.cache,
                read_secret=self._tools.secret,
            )
        except LookupError as error:
            raise PhaseFailed("CLIENT_ERROR", str(error)) from error
        self._sink.hide(env.secrets)
        self._env = env.variables

    def _temporary(self) -> Path:
        """Goes with the build's folder, however the build ends: tools that are killed leave their files there."""
        folder: Path = self._folder / "tmp"
        folder.mkdir()
        return folder

    def _run_phases(self, spec: Buildspec, env: dict[str, str]) -> bool:
        """True when every phase that ran succeeded or was told to go on."""
        succeeding, over = True, False
        for phase in spec.phases:
            if over and not (phase.name == "post_build" and self._after_failed_build):
                continue
            action = functools.partial(self._run_phase, spec, phase, env, succeeding)
            if self._guarded(phase.name.upper(), action):
                continue
            if phase.on_failure == "CONTINUE":
                continue
            succeeding, over = False, True
            self._after_failed_build = phase.name == "build" and phase.on_failure != "ABORT"
        return succeeding

    _after_failed_build = False

    def _run_phase(self, spec: Buildspec, phase: Phase, env: Mapping[str, str], succeeding: bool) -> None:
        failure: PhaseFailed | None = None
        try:
            self._run_commands(spec.shell, phase.commands, env, succeeding)
        except PhaseFailed as error:
            failure = error
        self._run_commands(spec.shell, phase.finally_commands, env, succeeding and failure is None)
        if failure is not None:
            raise failure

    def _run_commands(self, shell: str, commands: Sequence[str], env: Mapping[str, str], succeeding: bool) -> None:
        if not commands:
            return
        script, state, failed = (self._folder / name for name in ("phase.sh", "state.sh", "failed-command"))
        text = phase_shell.script(commands, succeeding=succeeding, state=state, failed_command=failed)
        script.write_text(text, encoding="utf-8")
        process = LeashedProcess(
            [shell, str(script)], env=env, cwd=self._source, write=self._sink.write, grace=GRACE_SECONDS
        )
        try:
            while (code := process.wait(0.2)) is None:
                self._check_time()
        finally:
            process.end()
        if code != 0:
            command = failed.read_text(encoding="utf-8").strip() if failed.exists() else "?"
            raise PhaseFailed(
                "COMMAND_EXECUTION_ERROR", f"Error while executing command: {command}. Reason: exit status {code}"
            )

    def _check_time(self) -> None:
        if self._stopped.is_set():
            raise BuildStopped
        if time.monotonic() > self._deadline:
            raise BuildTimedOut

    def _guarded(self, name: str, action: Callable[[], None]) -> bool:
        """Runs one phase and records how it went; False when it failed."""
        self._check_time()
        record: dict[str, Any] = {"phaseType": name, "startTime": time.time()}
        self._build["phases"].append(record)
        self._build["currentPhase"] = name
        self._sink.write(f"[Container] Entering phase {name}")
        status, context = "FAILED", {"statusCode": "", "message": ""}
        try:
            action()
            status = "SUCCEEDED"
        except PhaseFailed as error:
            context = {"statusCode": error.code, "message": str(error)}
        except BuildTimedOut:
            status = "TIMED_OUT"
            raise
        except BuildStopped:
            status = "STOPPED"
            raise
        finally:
            now = time.time()
            record.update(phaseStatus=status, endTime=now, durationInSeconds=int(now - record["startTime"]))
            record["contexts"] = [context]
            self._sink.write(f"[Container] Phase complete: {name} State: {status}")
            if context["message"]:
                self._sink.write(
                    f"[Container] Phase context status code: {context['statusCode']} Message: {context['message']}"
                )
        return status == "SUCCEEDED"

    def _finish(self, status: str) -> None:
        now = time.time()
        self._build["phases"].append({"phaseType": "COMPLETED", "startTime": now})
        self._build.update(currentPhase="COMPLETED", endTime=now, buildComplete=True)
        # Last: who sees this status sees everything else as it stays.
        self._build["buildStatus"] = status
