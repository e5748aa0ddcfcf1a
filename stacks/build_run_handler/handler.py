"""The two Lambda entry points of the custom resource `Custom::BuildRun`. Imports boto3 only, never the CDK.

CloudFormation asks for a result; where it is there already, the answer is immediate, so that a no-op or a rollback
builds nothing. Otherwise a CodeBuild build is started and watched until it has written the result.
"""

from __future__ import annotations

import json
import os
from typing import Any

import boto3

from . import builds, results

Event = dict[str, Any]


def on_event(event: Event, _context: object = None) -> Event:
    """Start the build of a Create or Update. What is returned reaches `is_complete` as part of its event."""
    properties = event["ResourceProperties"]
    # Never another id: a new one would make CloudFormation delete the old resource after an update.
    physical_id = event.get("PhysicalResourceId") or f"{properties['ProjectName']}/{properties['Kind']}"
    if event["RequestType"] == "Delete":  # results and what they name are the artifact stores', not ours to delete
        return {"PhysicalResourceId": physical_id}
    if _result(properties) is not None:
        print(json.dumps({"event": "result exists", "kind": properties["Kind"], "trigger": properties["Trigger"]}))
        return {"PhysicalResourceId": physical_id}
    # A result left here names what was deleted since. A build that finds one has nothing to do: it must not find it.
    results.discard(boto3.client("s3"), bucket=os.environ["ARTIFACT_BUCKET"], properties=properties)
    build_id = builds.start(
        boto3.client("codebuild"),
        project=properties["ProjectName"],
        source=properties["SourceLocation"],
        variables={**properties["Variables"], **_commit(properties), "TRIGGER": properties["Trigger"]},
        token=event["RequestId"],
    )
    print(json.dumps({"event": "build started", "kind": properties["Kind"], "build": build_id}))
    return {"PhysicalResourceId": physical_id, "BuildId": build_id}


def is_complete(event: Event, _context: object = None) -> Event:
    """Whether the build is done, with the result's attributes. Raises, with the build's own reason, when it failed."""
    if event["RequestType"] == "Delete":
        return {"IsComplete": True}
    build_id = event.get("BuildId")
    if build_id is not None and not builds.finished(boto3.client("codebuild"), boto3.client("logs"), build_id):
        return {"IsComplete": False}
    result = _result(event["ResourceProperties"])
    if result is None:
        raise RuntimeError(
            f"build {build_id} succeeded and left no usable result: s3://{os.environ['ARTIFACT_BUCKET']}/"
            f"{results.key_of(event['ResourceProperties'])} or what it names is missing"
        )
    return {"IsComplete": True, "Data": result}


def _commit(properties: dict[str, Any]) -> dict[str, str]:
    """What git said of the source at synth; nothing where it said nothing."""
    if "SourceCommit" not in properties:
        return {}
    return {"SOURCE_COMMIT": properties["SourceCommit"], "SOURCE_CHANGED": properties["SourceChanged"]}


def _result(properties: dict[str, Any]) -> dict[str, str] | None:
    return results.read(
        boto3.client("s3"),
        boto3.client("ecr"),
        bucket=os.environ["ARTIFACT_BUCKET"],
        repository=os.environ["REPOSITORY_NAME"],
        properties=properties,
    )
