"""ministack's check of requests against IAM, where it knows less than AWS: which project a build is of, which
log stream is read, and transport.

With the other `host` modules the only ones that know ministack's insides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import ministack.app as gateway  # type: ignore[import-not-found,unused-ignore]
from ministack.core import iam_actions  # type: ignore[import-not-found,unused-ignore]
from ministack.services import sts  # type: ignore[import-not-found,unused-ignore]

Extract = Callable[[str, str, str, Mapping[str, str], bytes, Mapping[str, Any], str, str], str]


def install() -> None:
    # Loopback counts as TLS: every bucket of CDK's denies what comes without.
    pin: Callable[[str, bool], None] = gateway.pin_request_origin
    gateway.pin_request_origin = lambda source_ip, secure: pin(source_ip, True)
    extract: Extract = iam_actions.extract_resource_arn

    def resource_arn(
        service: str,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        query: Mapping[str, Any],
        region: str,
        account: str,
    ) -> str:
        if service == "codebuild" and (build := _build_id(headers, body)):
            return f"arn:aws:codebuild:{region}:{account}:project/{build.partition(':')[0]}"
        if service == "logs" and (stream := _log_stream(headers, body)):
            return f"arn:aws:logs:{region}:{account}:log-group:{stream}"
        return extract(service, method, path, headers, body, query, region, account)

    iam_actions.extract_resource_arn = resource_arn


def _build_id(headers: Mapping[str, str], body: bytes) -> str | None:
    """AWS asks for the right to a build on its project; each request here is about one build."""
    if headers.get("x-amz-target", "").rpartition(".")[2] not in ("BatchGetBuilds", "StopBuild"):
        return None
    request = json.loads(body or b"{}")
    ids = request.get("ids") or [request.get("id")]
    return str(ids[0]) if len(ids) == 1 and ids[0] else None


def _log_stream(headers: Mapping[str, str], body: bytes) -> str | None:
    """What is written to and read from a stream is asked for on the stream, not on its group."""
    if headers.get("x-amz-target", "").rpartition(".")[2] not in ("GetLogEvents", "PutLogEvents"):
        return None
    request = json.loads(body or b"{}")
    return f"{request.get('logGroupName')}:log-stream:{request.get('logStreamName')}"


def register_session(key: str, secret: str, token: str, role_arn: str, session: str) -> None:
    """Makes temporary credentials valid; requests signed with them have the role's rights."""
    account, role = role_arn.split(":")[4], role_arn.rpartition("/")[2]
    sts.register_session(
        key,
        {
            "Arn": f"arn:aws:sts::{account}:assumed-role/{role}/{session}",
            "UserId": f"{role}:{session}",
            "SecretAccessKey": secret,
            "SessionToken": token,
        },
    )
