"""Why a deployment failed, from what the emulator remembers: the stacks' own reasons and the end of each failed
build's log.
"""

from __future__ import annotations

from typing import Any

from local import aws
from local.watch import last_lines

LOG_LINES = 30


def explain(url: str, *, known_builds: set[str]) -> list[str]:
    """Lines to show. known_builds: ids from before this deployment, of which nothing is said."""
    lines: list[str] = []
    cloudformation, builds, logs = (aws.client(name, url) for name in ("cloudformation", "codebuild", "logs"))
    ids = [build_id for build_id in builds.list_builds()["ids"] if build_id not in known_builds]
    ended = builds.batch_get_builds(ids=ids)["builds"] if ids else []
    failed = [build for build in ended if build["buildStatus"] not in ("SUCCEEDED", "IN_PROGRESS")]
    for stack in cloudformation.describe_stacks()["Stacks"]:
        for event in _first_failures(cloudformation, stack["StackName"]):
            lines.append(f"{stack['StackName']}: {event['LogicalResourceId']} {event['ResourceStatus']}:")
            lines += [f"    {line}" for line in _own_words(event.get("ResourceStatusReason", ""), failed)]
    for build in failed:
        lines.append(f"build {build['id']} {build['buildStatus']}; the end of its log:")
        lines += [f"    {line}" for line in last_lines(logs, build, LOG_LINES)]
    return lines


def _own_words(reason: str, failed: list[dict[str, Any]]) -> list[str]:
    """Of the reason that carries a failed build's log only the first line: the log itself follows."""
    lines = reason.splitlines()
    return lines[:1] if any(build["id"] in reason for build in failed) else lines


def _first_failures(cloudformation: Any, stack: str) -> list[dict[str, Any]]:
    """The failures of the stack's latest operation: what failed by itself, not what was taken along by it."""
    failures: list[dict[str, Any]] = []
    for event in cloudformation.describe_stack_events(StackName=stack)["StackEvents"]:
        about_stack = event["LogicalResourceId"] == stack
        if event["ResourceStatus"].endswith("_FAILED") and not about_stack:
            failures.append(event)
        if about_stack and event["ResourceStatus"] in (
            "CREATE_IN_PROGRESS",
            "UPDATE_IN_PROGRESS",
            "DELETE_IN_PROGRESS",
        ):
            break
    return failures[::-1]
