"""The container of a transform job, with its two log streams: its own, and the one about the job's data."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone

from local.emulator.containers import Container
from local.emulator.launch import ContainerTools, Place, new_instance, start
from local.emulator.records import VariantPlan
from local.emulator.scope import Scope

LOG_GROUP = "/aws/sagemaker/TransformJobs"


def launch(
    tools: ContainerTools, scope: Scope, job: str, plan: VariantPlan, cancelled: Callable[[], bool]
) -> tuple[Container, Callable[[str], None]]:
    """Raises LaunchError. A container of a job is not started again when it ends."""
    instance = new_instance()
    stream = f"{job}/{instance}-{int(time.time())}"
    place = Place(
        group=LOG_GROUP,
        stream=stream,
        file=tools.logs / "endpoints" / f"{job}-{instance}.log",
        user=f"transform job {job}",
        instance=instance,
    )
    container = start(tools, scope, place, plan, cancelled)
    to_stream = tools.log_writer(scope, LOG_GROUP, f"{stream}/data-log")

    def log(text: str) -> None:
        now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S.%f}"[:-3]
        prefix, _, rest = text.partition(": ") if "\n" in text else ("", "", text)
        for line in rest.split("\n"):
            told = f"{now}:[sagemaker logs]: {f'{prefix}: ' if prefix else ''}{line}"
            to_stream(told)
            container.sink.write(told)

    return container, log
