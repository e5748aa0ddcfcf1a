"""The environment variables of one build, in CodeBuild's order of precedence, and which of their values are secret.
Pure.

Start of the build over project over buildspec; CodeBuild's own names over all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.emulator.buildspec import Buildspec
from local.emulator.scope import Scope

ReadSecret = Callable[[str, str], str]  # kind, name → value


@dataclass(frozen=True, kw_only=True)
class BuildEnvironment:
    variables: dict[str, str]
    secrets: tuple[str, ...]


def compose(
    *,
    spec: Buildspec,
    build: Mapping[str, Any],
    declared: Sequence[Mapping[str, str]],
    base: Mapping[str, str],
    scope: Scope,
    credentials: Mapping[str, str],
    url: str,
    source: Path,
    tool_path: Sequence[Path],
    cache: Path,
    read_secret: ReadSecret,
) -> BuildEnvironment:
    """Raises LookupError for a secret that is not there. declared: the project's variables with the build's overrides
    applied ({name, value, type}), later ones win.
    """
    secrets: list[str] = []

    def value(kind: str, name: str) -> str:
        found = read_secret(kind, name)
        secrets.append(found)
        return found

    variables = dict(base)
    variables |= spec.variables
    variables |= {variable: value(kind, name) for variable, (kind, name) in spec.secrets.items()}
    for entry in declared:
        kind = entry.get("type", "PLAINTEXT")
        variables[entry["name"]] = entry["value"] if kind == "PLAINTEXT" else value(kind, entry["value"])
    path = os.pathsep.join([*map(str, tool_path), base.get("PATH", os.defpath)])
    variables |= {
        "PATH": path,
        "AWS_REGION": scope.region,
        "AWS_DEFAULT_REGION": scope.region,
        **credentials,
        "AWS_ENDPOINT_URL": url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CODEBUILD_BUILD_ID": build["id"],
        "CODEBUILD_BUILD_ARN": build["arn"],
        "CODEBUILD_BUILD_NUMBER": str(build["buildNumber"]),
        "CODEBUILD_BUILD_IMAGE": str(build.get("environment", {}).get("image", "")),
        "CODEBUILD_INITIATOR": build["initiator"],
        "CODEBUILD_SRC_DIR": str(source),
        "CODEBUILD_START_TIME": str(int(time.time() * 1000)),
        "CODEBUILD_SOURCE_REPO_URL": str(build.get("source", {}).get("location", "")),
        "CODEBUILD_LOG_PATH": build["logs"]["streamName"],
        # For the tools in local/bin alone: where an image's environment may be kept between builds.
        "LOCAL_EMULATOR_CACHE": str(cache),
    }
    return BuildEnvironment(variables=variables, secrets=tuple(secrets))
