"""SageMaker's transform jobs of one account and region: created, described, stopped, listed. What a job does is
`transform_run`'s business.

Requests arrive checked against AWS's model of the API. What this emulator cannot do with a job is refused by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from local.emulator import transform_run, variants
from local.emulator.aws_errors import AwsError, validation
from local.emulator.containers import Container, LaunchError
from local.emulator.model_data import ModelDataError
from local.emulator.objects import Objects
from local.emulator.records import VariantPlan
from local.emulator.scope import Scope
from local.emulator.transform_run import ObjectFailed, Stopped, TransformPlan
from local.emulator.variants import FindModel

MOST_MEGABYTES = 100  # AWS: of one payload, and of all that may be under way at an instance
Status = Literal["InProgress", "Completed", "Failed", "Stopping", "Stopped"]
# job, plan, whether to give up → a running container, and where the lines about the job's data go
LaunchJob = Callable[[Scope, str, VariantPlan, Callable[[], bool]], "tuple[Container, Callable[[str], None]]"]


@dataclass(kw_only=True)
class JobRecord:
    """Changed only while its store's lock is held."""

    name: str
    arn: str
    request: dict[str, Any]
    created: float
    status: Status = "InProgress"
    failure_reason: str | None = None
    started: float | None = None
    ended: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)


class TransformJobs:
    """launch may take minutes; each job runs on a thread of its own."""

    def __init__(self, scope: Scope, *, launch: LaunchJob, objects: Objects) -> None:
        self._scope, self._launch, self._objects = scope, launch, objects
        self._lock = threading.Lock()
        self._jobs: dict[str, JobRecord] = {}

    def create(self, request: dict[str, Any], find_model: FindModel) -> dict[str, Any]:
        name = request["TransformJobName"]
        arn = self._scope.sagemaker_arn("transform-job", name)
        _check(request)
        try:
            plan = transform_run.plan(request)
        except ModelDataError as error:
            raise validation(str(error)) from error
        container = _container_plan(request, find_model)
        record = JobRecord(name=name, arn=arn, request=request, created=time.time())
        with self._lock:
            if name in self._jobs:
                raise AwsError("ResourceInUse", f"A transform job of this name exists already: {arn}")
            self._jobs[name] = record
        threading.Thread(
            target=self._run, args=(record, plan, container), daemon=True, name=f"transform-{name}"
        ).start()
        return {"TransformJobArn": arn}

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        record = self._get(request["TransformJobName"])
        told = {name: value for name, value in record.request.items() if name != "Tags"}
        told |= {"TransformJobArn": record.arn, "TransformJobStatus": record.status, "CreationTime": record.created}
        times = {"TransformStartTime": record.started, "TransformEndTime": record.ended}
        told |= {name: value for name, value in times.items() if value is not None}
        return told | ({"FailureReason": record.failure_reason} if record.failure_reason else {})

    def stop(self, request: dict[str, Any]) -> dict[str, Any]:
        record = self._get(request["TransformJobName"])
        with self._lock:
            if record.status not in ("InProgress", "Stopping"):
                raise validation(f"The request was rejected because the transform job is in status {record.status}.")
            record.status = "Stopping"
        record.stop.set()
        return {}

    def list(self, request: dict[str, Any]) -> dict[str, Any]:
        """At most MaxResults; a NextToken is a place in the sorted list."""
        wanted, part = request.get("StatusEquals"), request.get("NameContains", "")
        key = {"Name": "name", "Status": "status"}.get(request.get("SortBy", "CreationTime"), "created")
        with self._lock:
            found = [job for job in self._jobs.values() if part in job.name and wanted in (None, job.status)]
        found.sort(key=lambda job: getattr(job, key), reverse=request.get("SortOrder", "Descending") == "Descending")
        first, most = int(request.get("NextToken", 0)), request.get("MaxResults", 10)
        shown = [_summary(job) for job in found[first : first + most]]
        more = {"NextToken": str(first + most)} if len(found) > first + most else {}
        return {"TransformJobSummaries": shown, **more}

    def tags(self) -> dict[str, Any]:
        """ARN → tags."""
        with self._lock:
            return {job.arn: job.request.get("Tags", []) for job in self._jobs.values()}

    def close(self) -> None:
        """Ends every job; for the end of the process or a reset."""
        with self._lock:
            jobs, self._jobs = list(self._jobs.values()), {}
        for job in jobs:
            job.stop.set()

    def _get(self, name: str) -> JobRecord:
        with self._lock:
            if name not in self._jobs:
                raise validation(f"Could not find requested job with name: {name}")
            return self._jobs[name]

    def _run(self, record: JobRecord, plan: TransformPlan, needed: VariantPlan) -> None:
        try:
            container, log = self._launch(self._scope, record.name, needed, record.stop.is_set)
        except LaunchError as error:
            self._end(record, "Stopped" if record.stop.is_set() else "Failed", f"AlgorithmError: {error}")
            return
        record.started = time.time()
        try:
            transform_run.work(plan, container, self._objects, stopping=record.stop.is_set, log=log)
        except Stopped:
            self._end(record, "Stopped", None)
        except ObjectFailed as error:
            self._end(record, "Failed", f"{error.blame}: See job logs for more information")
        except FileNotFoundError as error:
            self._end(record, "Failed", f"ClientError: {error}")
        except Exception as error:
            self._end(record, "Failed", f"InternalServerError: the emulator failed: {error!r}")
            raise
        else:
            self._end(record, "Completed", None)
        finally:
            container.stop()

    def _end(self, record: JobRecord, status: Status, reason: str | None) -> None:
        with self._lock:
            record.status, record.ended = status, time.time()
            record.failure_reason = reason[:1024] if reason and status == "Failed" else None


def _check(request: dict[str, Any]) -> None:
    """Raises AwsError for what AWS's model of the API cannot say, and for what is not emulated."""
    source, split = request["TransformInput"], request["TransformInput"].get("SplitType", "None")
    payload, concurrent = request.get("MaxPayloadInMB", 6), request.get("MaxConcurrentTransforms", 1)
    if payload > MOST_MEGABYTES or payload * max(concurrent, 1) > MOST_MEGABYTES:
        raise validation(
            f"MaxPayloadInMB ({payload}) and MaxConcurrentTransforms * MaxPayloadInMB ({concurrent} * {payload}) "
            f"must not exceed {MOST_MEGABYTES} MB."
        )
    if request.get("BatchStrategy") == "SingleRecord" and split == "None":
        raise validation("BatchStrategy SingleRecord needs a SplitType other than None.")
    kind = source["DataSource"]["S3DataSource"]["S3DataType"]
    left_out = {
        f"S3DataType {kind}": kind != "S3Prefix",
        f"CompressionType {source.get('CompressionType')}": source.get("CompressionType", "None") != "None",
        f"SplitType {split}": split not in ("None", "Line"),
        "MaxPayloadInMB 0 (chunked encoding)": payload == 0,
        "DataProcessing": bool(request.get("DataProcessing")),
        "DataCaptureConfig": bool(request.get("DataCaptureConfig")),
    }
    for name, asked in left_out.items():
        if asked:
            raise validation(f"{name} of a transform job is not emulated.")


def _container_plan(request: dict[str, Any], find_model: FindModel) -> VariantPlan:
    """The model's container with the job's variables and SageMaker's own: of these only what the request gives."""
    model = find_model(request["ModelName"])
    container = model.request["PrimaryContainer"]
    told = {"SAGEMAKER_BATCH": "true"}
    if "MaxPayloadInMB" in request:
        told["SAGEMAKER_MAX_PAYLOAD_IN_MB"] = str(request["MaxPayloadInMB"])
    if "BatchStrategy" in request:
        told["SAGEMAKER_BATCH_STRATEGY"] = {"SingleRecord": "SINGLE_RECORD", "MultiRecord": "MULTI_RECORD"}[
            request["BatchStrategy"]
        ]
    if "MaxConcurrentTransforms" in request:
        told["SAGEMAKER_MAX_CONCURRENT_TRANSFORMS"] = str(request["MaxConcurrentTransforms"])
    return VariantPlan(
        name="transform",
        image=model.resolved_image,
        specified_image=container["Image"],
        model_data_url=variants.packed_model_data_url(container),
        environment={**container.get("Environment", {}), **request.get("Environment", {}), **told},
        startup_timeout=variants.DEFAULT_STARTUP_SECONDS,
        instance_count=int(request["TransformResources"]["InstanceCount"]),
        weight=1.0,
        instance_type=request["TransformResources"]["InstanceType"],
        role_arn=model.request["ExecutionRoleArn"],
    )


def _summary(job: JobRecord) -> dict[str, Any]:
    told: dict[str, Any] = {
        "TransformJobName": job.name,
        "TransformJobArn": job.arn,
        "CreationTime": job.created,
        "LastModifiedTime": job.ended or job.created,
        "TransformJobStatus": job.status,
    }
    if job.ended:
        told["TransformEndTime"] = job.ended
    return told
