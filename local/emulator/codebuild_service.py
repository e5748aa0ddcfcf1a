"""CodeBuild's StartBuild and StopBuild: applies a build's overrides to its own copy of the project and runs it on its
own thread.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

from local.emulator.aws_errors import AwsError, Response, ok
from local.emulator.build_runner import BuildRun, BuildTools
from local.emulator.host import current_scope
from local.emulator.host_builds import BuildRegistry

__all__ = ["BuildTools", "CodeBuildService"]
EMULATED = frozenset({
    "projectName", "sourceVersion", "idempotencyToken", "environmentVariablesOverride", "sourceTypeOverride",
    "sourceLocationOverride", "buildspecOverride", "timeoutInMinutesOverride", "queuedTimeoutInMinutesOverride",
    "imageOverride", "computeTypeOverride", "privilegedModeOverride",
})  # fmt: skip


class CodeBuildService:
    def __init__(self, registry: BuildRegistry, tools: BuildTools) -> None:
        self._registry, self._tools = registry, tools
        self._lock = threading.Lock()
        self._running: dict[str, BuildRun] = {}
        self._threads: list[threading.Thread] = []
        self._by_token: dict[tuple[str, str], str] = {}

    def install(self) -> None:
        self._registry.install(self.start, self.stop)

    def start(self, request: dict[str, Any]) -> Response:
        unknown = sorted(set(request) - EMULATED)
        if unknown:
            raise AwsError("InvalidInputException", f"StartBuild: {', '.join(unknown)} is not emulated")
        name = str(request.get("projectName", "")).rpartition("/")[2]
        project = self._registry.project(name)
        if project is None:
            raise AwsError("ResourceNotFoundException", f"Project cannot be found: {request.get('projectName')}")
        with self._lock:
            token = (name, str(request["idempotencyToken"])) if request.get("idempotencyToken") else None
            known = self._registry.build(self._by_token[token]) if token in self._by_token else None
            if known is not None:
                return ok({"build": copy.deepcopy(known)})
            project = with_overrides(project, request)
            build = self._registry.new_build(project, request.get("sourceVersion"))
            self._describe_logs(project, build)
            run = BuildRun(self._tools, current_scope(), project, build)
            self._running[build["id"]] = run
            if token is not None:
                self._by_token[token] = build["id"]
        answer = copy.deepcopy(build)
        thread = threading.Thread(target=self._run, args=(build["id"], run), daemon=True, name=f"build-{name}")
        self._threads.append(thread)
        thread.start()
        return ok({"build": answer})

    def stop(self, request: dict[str, Any]) -> Response:
        build_id = str(request.get("id", ""))
        build = self._registry.build(build_id)
        if build is None:
            raise AwsError("ResourceNotFoundException", f"Build cannot be found: {build_id}")
        with self._lock:
            run = self._running.get(build_id)
        if run is not None:
            run.stop()
        return ok({"build": copy.deepcopy(build)})

    def close(self) -> None:
        """Stops every build and waits until its processes are gone."""
        with self._lock:
            running, threads = list(self._running.values()), list(self._threads)
        for run in running:
            run.stop()
        for thread in threads:
            thread.join(20)

    def _run(self, build_id: str, run: BuildRun) -> None:
        try:
            run.run()
        finally:
            with self._lock:
                self._running.pop(build_id, None)

    def _describe_logs(self, project: dict[str, Any], build: dict[str, Any]) -> None:
        """Where the log is: the project's own group, when it names one."""
        scope = current_scope()
        given = (project.get("logsConfig") or {}).get("cloudWatchLogs") or {}
        group = given.get("groupName") or f"/aws/codebuild/{project['name']}"
        stream = build["id"].rpartition(":")[2]
        if given.get("streamName"):
            stream = f"{given['streamName']}/{stream}"
        build["logs"] = {
            "groupName": group,
            "streamName": stream,
            "deepLink": (
                f"https://console.aws.amazon.com/cloudwatch/home?region={scope.region}"
                f"#logsV2:log-groups/log-group/{group}/log-events/{stream}"
            ),
            "cloudWatchLogsArn": scope.log_stream_arn(group, stream),
        }


def with_overrides(project: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """A copy of the project as this one build sees it. Variables are merged by name, the request's win."""
    merged = copy.deepcopy(project)
    source = merged.setdefault("source", {})
    environment = merged.setdefault("environment", {})
    for key, target, name in (
        ("sourceTypeOverride", source, "type"),
        ("sourceLocationOverride", source, "location"),
        ("buildspecOverride", source, "buildspec"),
        ("imageOverride", environment, "image"),
        ("computeTypeOverride", environment, "computeType"),
        ("privilegedModeOverride", environment, "privilegedMode"),
        ("timeoutInMinutesOverride", merged, "timeoutInMinutes"),
    ):
        if key in request:
            target[name] = request[key]
    variables = {entry["name"]: entry for entry in environment.get("environmentVariables") or []}
    variables |= {entry["name"]: entry for entry in request.get("environmentVariablesOverride") or []}
    environment["environmentVariables"] = list(variables.values())
    return merged
