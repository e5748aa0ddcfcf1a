"""InvokeEndpointAsync: requests wait in a queue of their endpoint; answers and failures become objects in S3.

Topics of a NotificationConfig are told nothing; the endpoint's log says so. An inline Body is refused.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from local.emulator import runtime_front
from local.emulator.aws_errors import AwsError, Response
from local.emulator.endpoints import Fleet
from local.emulator.model_data import split_s3_url
from local.emulator.objects import Objects
from local.emulator.records import EndpointRecord
from local.emulator.scope import Scope

INVOCATION_PATH = re.compile(r"/endpoints/(?P<name>[^/]+)/async-invocations")
DEFAULT_TIMEOUT_SECONDS = 900.0
DEFAULT_TTL_SECONDS = 21_600.0
DEFAULT_CONCURRENCY = 1  # AWS finds one that suits the instance
# The API's own headers about the request, and the plain ones that InvokeEndpoint would have.
_PLAIN = {"x-amzn-sagemaker-content-type": "content-type", "x-amzn-sagemaker-accept": "accept"}
Find = Callable[[str], "tuple[EndpointRecord | None, Fleet]"]


@dataclass(frozen=True, kw_only=True)
class Queued:
    endpoint: str
    inference_id: str
    headers: dict[str, str]
    bucket: str
    key: str
    output_url: str
    failure_url: str | None
    timeout: float
    expires: float
    topics: tuple[str, ...]


class AsyncInvocations:
    """find: the endpoint and what answers for it now."""

    def __init__(self, scope: Scope, *, find: Find, objects: Objects) -> None:
        self._scope, self._find, self._objects = scope, find, objects
        self._lock = threading.Lock()
        self._workers: dict[str, ThreadPoolExecutor] = {}
        self._closing = threading.Event()

    def invoke(self, name: str, headers: Mapping[str, str], body: bytes, config: dict[str, Any] | None) -> Response:
        """config: the endpoint's AsyncInferenceConfig; None for a real-time one. Raises AwsError."""
        record, fleet = self._find(name)
        if record is None:
            raise AwsError("ValidationError", f"Endpoint {name} of account {self._scope.account} not found.")
        if not fleet and record.status != "InService":
            raise AwsError("ValidationError", f"Endpoint {name} is {record.status}, not InService.")
        if config is None:
            raise AwsError("ValidationError", f"Endpoint {name} has no AsyncInferenceConfig; use InvokeEndpoint.")
        queued = self._queued(name, headers, body, config)
        limit = config.get("ClientConfig", {}).get("MaxConcurrentInvocationsPerInstance", DEFAULT_CONCURRENCY)
        with self._lock:
            if name not in self._workers:
                self._workers[name] = ThreadPoolExecutor(limit, thread_name_prefix=f"async-{name}")
            self._workers[name].submit(self._answer, queued)
        told = {"Content-Type": "application/json", "X-Amzn-SageMaker-OutputLocation": queued.output_url}
        if queued.failure_url:
            told["X-Amzn-SageMaker-FailureLocation"] = queued.failure_url
        return 202, told, json.dumps({"InferenceId": queued.inference_id}).encode()

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            workers, self._workers = list(self._workers.values()), {}
        for pool in workers:
            pool.shutdown(wait=False, cancel_futures=True)

    def _queued(self, name: str, headers: Mapping[str, str], body: bytes, config: dict[str, Any]) -> Queued:
        location = headers.get("x-amzn-sagemaker-inputlocation")
        if body or not location:
            raise AwsError("ValidationError", "This emulator takes a request from InputLocation, not from Body.")
        output = config["OutputConfig"]
        if not output.get("S3OutputPath"):
            raise AwsError("ValidationError", "This emulator needs OutputConfig.S3OutputPath.")
        bucket, key = split_s3_url(location)
        result = uuid.uuid4().hex
        forwarded = {plain: headers[own] for own, plain in _PLAIN.items() if own in headers}
        forwarded |= {
            each: headers[each] for each in runtime_front.FORWARDED if each in headers and each not in forwarded
        }
        notified = output.get("NotificationConfig", {})
        failure = output.get("S3FailurePath")
        return Queued(
            endpoint=name,
            inference_id=headers.get("x-amzn-sagemaker-inference-id", str(uuid.uuid4())),
            headers=forwarded,
            bucket=bucket,
            key=key,
            output_url=f"{output['S3OutputPath'].rstrip('/')}/{result}.out",
            failure_url=f"{failure.rstrip('/')}/{result}-error.out" if failure else None,
            timeout=float(headers.get("x-amzn-sagemaker-invocationtimeoutseconds", DEFAULT_TIMEOUT_SECONDS)),
            expires=time.monotonic() + float(headers.get("x-amzn-sagemaker-requestttlseconds", DEFAULT_TTL_SECONDS)),
            topics=tuple(topic for kind in ("SuccessTopic", "ErrorTopic") if (topic := notified.get(kind))),
        )

    def _answer(self, queued: Queued) -> None:
        fleet = self._awaited(queued)
        if fleet is None:
            self._fail(queued, "The request expired in the queue before an instance could take it.")
            return
        container = next(iter(fleet.values()))
        for topic in queued.topics:
            container.sink.write(f"[emulator] request {queued.inference_id}: topic {topic} is told nothing")
        try:
            body = self._objects.open(queued.bucket, queued.key).read()
            _, _, answer = runtime_front.invoke(
                self._scope, queued.endpoint, queued.headers, body, find=self._find, timeout=queued.timeout
            )
        except FileNotFoundError as error:
            self._fail(queued, f"The input could not be read: {error}")
        except AwsError as error:
            container.sink.write(f"[emulator] request {queued.inference_id}: {error.message}")
            self._fail(queued, error.message)
        else:
            self._objects.put(*split_s3_url(queued.output_url), answer)

    def _awaited(self, queued: Queued) -> Fleet | None:
        """What answers, once something does; None when the request is too old or the endpoint is gone."""
        while time.monotonic() < queued.expires and not self._closing.is_set():
            record, fleet = self._find(queued.endpoint)
            if fleet:
                return fleet
            if record is None:
                return None
            self._closing.wait(0.2)
        return None

    def _fail(self, queued: Queued, reason: str) -> None:
        if queued.failure_url and not self._closing.is_set():
            self._objects.put(*split_s3_url(queued.failure_url), reason.encode())
