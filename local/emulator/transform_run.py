"""One transform job at work: every object of its input is cut, posted to a container, put together and stored, as
Batch Transform does it.

An object is answered whole or not at all. One that fails does not end the job: the others are worked on, and the job
then counts as failed. A container that is busy or broken (5xx, no answer) is asked again, as often as the job allows; a
4xx is final.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from local.emulator import transform_records
from local.emulator.containers import Container
from local.emulator.model_data import split_s3_url
from local.emulator.objects import Objects
from local.emulator.transform_records import RecordTooLarge, Strategy

Write = Callable[[str], None]


class Stopped(Exception):
    """The job was asked to stop."""


class ObjectFailed(Exception):
    """blame: ClientError for a 4xx or a record too large, AlgorithmError for the rest, as SageMaker calls them."""

    def __init__(self, blame: str, detail: str) -> None:
        super().__init__(detail)
        self.blame = blame


@dataclass(frozen=True, kw_only=True)
class TransformPlan:
    """A CreateTransformJob request, read."""

    bucket: str
    prefix: str
    output_bucket: str
    output_prefix: str
    content_type: str | None
    accept: str | None
    split: str
    assemble_with: str
    timeout_seconds: float
    retries: int
    strategy: Strategy | None
    max_concurrent: int | None
    max_payload_mb: int | None


def plan(request: dict[str, Any]) -> TransformPlan:
    source, target = request["TransformInput"], request["TransformOutput"]
    client = request.get("ModelClientConfig", {})
    bucket, prefix = split_s3_url(source["DataSource"]["S3DataSource"]["S3Uri"])
    output_bucket, output_prefix = split_s3_url(target["S3OutputPath"])
    return TransformPlan(
        bucket=bucket,
        prefix=prefix,
        output_bucket=output_bucket,
        output_prefix=output_prefix,
        content_type=source.get("ContentType"),
        accept=target.get("Accept"),
        split=source.get("SplitType", "None"),
        assemble_with=target.get("AssembleWith", "None"),
        timeout_seconds=float(client.get("InvocationsTimeoutInSeconds", 600)),
        retries=int(client.get("InvocationsMaxRetries", 3)),
        strategy=request.get("BatchStrategy"),
        max_concurrent=request.get("MaxConcurrentTransforms") or None,
        max_payload_mb=request.get("MaxPayloadInMB"),
    )


def work(
    job: TransformPlan, container: Container, objects: Objects, *, stopping: Callable[[], bool], log: Write
) -> None:
    """log: of the job's data. Raises ObjectFailed when at least one object was not answered, Stopped."""
    wished = execution_parameters(container)
    concurrent = job.max_concurrent or int(wished.get("MaxConcurrentTransforms", 1))
    payload = job.max_payload_mb if job.max_payload_mb is not None else int(wished.get("MaxPayloadInMB", 6))
    strategy = job.strategy or _strategy(wished.get("BatchStrategy", "MULTI_RECORD"))
    log(f"MaxConcurrentTransforms={concurrent}, MaxPayloadInMB={payload}, BatchStrategy={strategy}")
    keys = [key for key in objects.keys(job.bucket, job.prefix) if not key.endswith("/")]
    if not keys:
        raise ObjectFailed("ClientError", f"No S3 objects found under s3://{job.bucket}/{job.prefix}")
    failures: list[ObjectFailed] = []
    with ThreadPoolExecutor(concurrent) as pool:
        for key in keys:
            try:
                bodies = transform_records.requests(
                    objects.open(job.bucket, key).read(), split=job.split, strategy=strategy, max_payload_mb=payload
                )
                answers = list(pool.map(lambda body: _ask(job, container, body, stopping), bodies))
            except RecordTooLarge as error:
                failures.append(ObjectFailed("ClientError", str(error)))
                log(f"{job.bucket}/{key}: ClientError: {error}")
            except ObjectFailed as error:
                failures.append(error)
                log(f"{job.bucket}/{key}: {error}")
            else:
                target = transform_records.output_key(key, input_prefix=job.prefix, output_prefix=job.output_prefix)
                content = transform_records.assembled(answers, assemble_with=job.assemble_with)
                objects.put(job.output_bucket, target, content)
    if failures:
        raise failures[0]


def execution_parameters(container: Container) -> dict[str, Any]:
    """What the container wishes; nothing where it has no such route."""
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=10)
    try:
        connection.request("GET", "/execution-parameters")
        response = connection.getresponse()
        body = response.read()
        wished: dict[str, Any] = json.loads(body) if response.status == 200 else {}
        return wished
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()


def _ask(job: TransformPlan, container: Container, body: bytes, stopping: Callable[[], bool]) -> bytes:
    headers = {name: value for name, value in (("Content-Type", job.content_type), ("Accept", job.accept)) if value}
    for attempt in range(job.retries + 1):
        if stopping():
            raise Stopped
        status, answer = _post(container, headers, body, job.timeout_seconds)
        if status == 200:
            return answer
        if 400 <= status < 500:
            raise ObjectFailed("ClientError", f"ClientError: {status}\n\nMessage:\n{_text(answer)}")
        if attempt == job.retries:
            detail = f"Bad HTTP status received from algorithm: {status}" if status else _text(answer)
            raise ObjectFailed("AlgorithmError", f"{detail}\n\nMessage:\n{_text(answer)}")
    raise AssertionError("unreachable")


def _post(container: Container, headers: dict[str, str], body: bytes, timeout: float) -> tuple[int, bytes]:
    """Status 0 and the reason where no answer came."""
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=timeout)
    try:
        connection.request("POST", "/invocations", body=body, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    except TimeoutError:
        return 0, b"Model server did not respond to /invocations request within the job's timeout"
    except (OSError, http.client.HTTPException) as error:
        return 0, f"Unable to get response from algorithm: {error}".encode()
    finally:
        connection.close()


def _strategy(wished: str) -> Strategy:
    return "SingleRecord" if wished.upper().replace("_", "") == "SINGLERECORD" else "MultiRecord"


def _text(answer: bytes) -> str:
    return answer.decode("utf-8", "replace")
