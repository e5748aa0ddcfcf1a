"""One request to an endpoint that answers asynchronously: uploaded, queued, its answer fetched when it is there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from client.aws import ABSENT, Clients, code_of
from client.bulk_store import split_uri
from client.decision_lines import check_decision
from client.errors import JobFailed, Refused
from client.json_lines import BadLine, check_value

Pauses = Callable[[], "Iterator[float]"]


@dataclass(frozen=True, kw_only=True)
class Pending:
    """Where an answer, or why there is none, will be: s3:// URLs. failure: None where the endpoint keeps none."""

    output: str
    failure: str | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """ok: the body is the server's answer, else what it or SageMaker said of the failure."""

    ok: bool
    body: bytes


def invoke(clients: Clients, *, endpoint: str, bucket: str, body: bytes) -> Pending:
    """Raises Refused where SageMaker does not take it."""
    key = f"async/{endpoint}/input/{uuid.uuid4().hex}.json"
    clients.s3.put_object(Bucket=bucket, Key=key, Body=body, ContentType="application/json")
    try:
        told = clients.runtime.invoke_endpoint_async(
            EndpointName=endpoint,
            InputLocation=f"s3://{bucket}/{key}",
            ContentType="application/json",
            Accept="application/json",
        )
    except ClientError as error:
        raise Refused(f"endpoint {endpoint}: SageMaker does not take the request: {error}") from error
    return Pending(output=told["OutputLocation"], failure=told.get("FailureLocation"))


def wait(s3: Any, pending: Pending, *, pauses: Pauses) -> Answer:
    """Raises JobFailed when neither answer nor failure came while `pauses` lasted."""
    for _ in pauses():
        if (body := _fetched(s3, pending.output)) is not None:
            return Answer(ok=True, body=body)
        if pending.failure and (body := _fetched(s3, pending.failure)) is not None:
            return Answer(ok=False, body=body)
    raise JobFailed(f"no answer in time. It may still come: {pending.output}")


def request_body(given: dict[str, Any]) -> bytes:
    """A decision, or an object with `decision` or `decisions`, as a request body (contract 3.1). Raises BadLine."""
    whole = given if "decision" in given or "decisions" in given else {"decision": given}
    if len(whole) != 1:
        raise BadLine(f"the keys {', '.join(whole)}; exactly one of `decision` and `decisions` is needed")
    check_value(whole)
    if "decision" in whole:
        check_decision(whole["decision"], "decision")
    elif not isinstance(whole["decisions"], list) or not whole["decisions"]:
        raise BadLine("a list of at least one decision is needed", field="decisions")
    else:
        for index, decision in enumerate(whole["decisions"]):
            check_decision(decision, f"decisions[{index}]")
    return json.dumps(whole, ensure_ascii=False).encode("utf-8")


def _fetched(s3: Any, url: str) -> bytes | None:
    bucket, key = split_uri(url)
    try:
        content: bytes = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        if code_of(error) in ABSENT:
            return None
        if code_of(error) in ("AccessDenied", "403"):  # S3 says so of an absent object to who may not list
            raise Refused(f"{url}: may not be read. Remedy: s3:GetObject on it, s3:ListBucket on {bucket}") from error
        raise
    return content
