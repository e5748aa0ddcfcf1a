"""Starts a CodeBuild build, and says whether it is done or why it failed."""

from __future__ import annotations

from typing import Any

# CloudFormation cuts a failure's reason: the tail of the log is bounded so that the phase and the link stay in it.
_LOG_LINES = 15
_LOG_CHARACTERS = 1200


class BuildFailed(Exception):
    """The build ended without success; the text is what `cdk deploy` shows."""


def start(codebuild: Any, *, project: str, source: str, variables: dict[str, str], token: str) -> str:
    """The id of the new build. `source`: BUCKET/KEY of a zip. The same `token` never starts a second build."""
    answer = codebuild.start_build(
        projectName=project,
        sourceTypeOverride="S3",
        sourceLocationOverride=source,
        environmentVariablesOverride=[
            {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in sorted(variables.items())
        ],
        idempotencyToken=token,
    )
    return str(answer["build"]["id"])


def finished(codebuild: Any, logs: Any, build_id: str) -> bool:
    """False while it runs, True after success. Raises BuildFailed otherwise."""
    found = codebuild.batch_get_builds(ids=[build_id])["builds"]
    if not found:
        raise BuildFailed(f"build {build_id} is gone: CodeBuild does not know it any more")
    build = found[0]
    status = build["buildStatus"]
    if status == "IN_PROGRESS":
        return False
    if status == "SUCCEEDED":
        return True
    raise BuildFailed(_reason(logs, build, status))


def _reason(logs: Any, build: dict[str, Any], status: str) -> str:
    phases = [phase for phase in build.get("phases", []) if phase.get("phaseStatus") not in (None, "SUCCEEDED")]
    where = "; ".join(f"phase {phase['phaseType']} {phase['phaseStatus']}{_contexts(phase)}" for phase in phases)
    link = (build.get("logs") or {}).get("deepLink")
    parts = [f"build {build['id']} {status}: {where or 'no phase reports a failure'}"]
    if link:
        parts.append(f"Log: {link}")
    lines = _last_lines(logs, build.get("logs") or {})
    if lines:
        parts.append(f"Last lines of the log:\n{lines}")
    return "\n".join(parts)


def _contexts(phase: dict[str, Any]) -> str:
    messages = [context["message"] for context in phase.get("contexts") or [] if context.get("message")]
    return f" ({' / '.join(messages)})" if messages else ""


def _last_lines(logs: Any, place: dict[str, Any]) -> str:
    group, stream = place.get("groupName"), place.get("streamName")
    if not group or not stream:
        return ""
    try:
        events = logs.get_log_events(logGroupName=group, logStreamName=stream, limit=_LOG_LINES, startFromHead=False)[
            "events"
        ]
    except logs.exceptions.ResourceNotFoundException:  # a build that failed before it wrote a line
        return ""
    text = "\n".join(event["message"].rstrip() for event in events)
    return text if len(text) <= _LOG_CHARACTERS else f"… {text[-_LOG_CHARACTERS:]}"
