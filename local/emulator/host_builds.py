"""ministack's CodeBuild and its log streams: its records and lists stay, starting and stopping a build become ours.

With `host` the only module that knows ministack's insides; what is relied on is checked there.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

from ministack.services import codebuild  # type: ignore[import-not-found,unused-ignore]
from ministack.services.cloudformation import provisioners  # type: ignore[import-not-found,unused-ignore]

from local.emulator.aws_errors import AwsError, Response
from local.emulator.host import Created, Properties, in_scope
from local.emulator.log_sink import LineWriter
from local.emulator.scope import Scope


class BuildRegistry:
    """CodeBuild's projects and builds as ministack keeps them; starting and stopping a build is left to ours."""

    def install(self, start: Callable[[dict[str, Any]], Response], stop: Callable[[dict[str, Any]], Response]) -> None:
        def translated(handler: Callable[[dict[str, Any]], Response]) -> Callable[[dict[str, Any]], Response]:
            def call(request: dict[str, Any]) -> Response:
                try:
                    return handler(request)
                except AwsError as error:
                    return error.response()

            return call

        codebuild.EXECUTE_BUILDS = True
        codebuild._start_build = translated(start)
        codebuild._stop_build = translated(stop)
        self._keep_logs_config()

    def _keep_logs_config(self) -> None:
        """ministack drops a project's LogsConfig; without it a build writes to the wrong log group."""
        handlers = provisioners._RESOURCE_HANDLERS["AWS::CodeBuild::Project"]
        create, update = handlers["create"], handlers["update"]

        def keep(name: str, properties: Properties) -> None:
            codebuild._projects[name]["logsConfig"] = provisioners._codebuild_cfn_to_api(
                properties.get("LogsConfig") or {}
            )

        def created(logical_id: str, properties: Properties, stack: str) -> Created:
            result: Created = create(logical_id, properties, stack)
            keep(result[0], properties)
            return result

        def updated(physical_id: str, old: Properties, new: Properties, stack: str) -> Created:
            result: Created = update(physical_id, old, new, stack)
            keep(result[0], new)
            return result

        handlers.update(create=created, update=updated)

    def project(self, name: str) -> dict[str, Any] | None:
        found = codebuild._projects.get(name)
        return copy.deepcopy(found) if found else None

    def new_build(self, project: dict[str, Any], source_version: str | None) -> dict[str, Any]:
        """A build's record, IN_PROGRESS, listed from now on. The runner changes it as the build goes on."""
        build_id = codebuild._build_id(project["name"])
        build: dict[str, Any] = codebuild._make_build_record(project, build_id, source_version)
        build.pop("endTime")
        now = time.time()
        submitted = {"phaseType": "SUBMITTED", "phaseStatus": "SUCCEEDED", "startTime": now, "endTime": now}
        build.update(buildStatus="IN_PROGRESS", currentPhase="QUEUED", startTime=now, phases=[submitted])
        codebuild._builds[build_id] = build
        return build

    def build(self, build_id: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = codebuild._builds.get(build_id)
        return found


def log_writer(scope: Scope, group: str, stream: str) -> LineWriter:
    """Appends lines to a log stream, made with its group where absent."""
    build = {"logs": {"groupName": group, "streamName": stream}}
    emit: LineWriter = in_scope(scope, codebuild._log_sink, build)
    return lambda line: in_scope(scope, emit, line)


def reset_hooks(hook: Callable[[], None]) -> None:
    """`POST /_ministack/reset` forgets everything: `hook` is told too."""
    own = codebuild.reset

    def reset() -> None:
        hook()
        own()

    codebuild.reset = reset
