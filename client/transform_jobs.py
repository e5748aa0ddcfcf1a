"""SageMaker's transform jobs: started, looked at, stopped, listed. Knows nothing of lines and answers."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from client.aws import ABSENT, code_of
from client.errors import Refused

RUNNING = ("InProgress", "Stopping")
LOG_GROUP = "/aws/sagemaker/TransformJobs"
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


@dataclass(frozen=True, kw_only=True)
class JobState:
    """status: InProgress, Completed, Failed, Stopping, Stopped. input_uri: where the job reads its parts."""

    status: str
    reason: str | None
    input_uri: str


@dataclass(frozen=True, kw_only=True)
class ListedJob:
    name: str
    status: str
    created: datetime


def check_name(name: str) -> str:
    """Raises ValueError."""
    if not _NAME.fullmatch(name) or len(name) > 63:
        raise ValueError(f"{name!r}: 1 to 63 of A-Z, a-z, 0-9 and -, with no - at either end")
    return name


def request(definition: Mapping[str, Any], *, job: str) -> dict[str, Any]:
    """The whole request of CreateTransformJob: the definition's prefixes lead to folders of this job."""
    filled: dict[str, Any] = copy.deepcopy(dict(definition))
    filled["TransformJobName"] = job
    filled["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"] += f"{job}/"
    filled["TransformOutput"]["S3OutputPath"] += f"{job}/"
    return filled


class TransformJobs:
    def __init__(self, sagemaker: Any) -> None:
        self._sagemaker = sagemaker

    def create(self, definition: Mapping[str, Any], *, job: str) -> None:
        """Raises Refused where SageMaker does not take it."""
        try:
            self._sagemaker.create_transform_job(**request(definition, job=job))
        except ClientError as error:
            raise Refused(f"job {job}: SageMaker does not start it: {error}") from error

    def state(self, job: str) -> JobState | None:
        """None where there is no such job."""
        try:
            told = self._sagemaker.describe_transform_job(TransformJobName=job)
        except ClientError as error:
            if code_of(error) not in ABSENT:
                raise
            return None
        return JobState(
            status=told["TransformJobStatus"],
            reason=told.get("FailureReason"),
            input_uri=told["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"],
        )

    def stop(self, job: str) -> None:
        self._sagemaker.stop_transform_job(TransformJobName=job)

    def latest(self, *, contains: str | None, count: int) -> list[ListedJob]:
        asked: dict[str, Any] = {"SortBy": "CreationTime", "SortOrder": "Descending", "MaxResults": count}
        if contains:
            asked["NameContains"] = contains
        found = self._sagemaker.list_transform_jobs(**asked)["TransformJobSummaries"]
        return [
            ListedJob(name=each["TransformJobName"], status=each["TransformJobStatus"], created=each["CreationTime"])
            for each in found
        ]
