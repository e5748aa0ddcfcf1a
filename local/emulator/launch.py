"""Makes a container run: image pulled, model brought, process started, healthy. Knows no states of endpoints or
transform jobs.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from local.emulator.containers import Container, LaunchError
from local.emulator.log_sink import LineWriter, LogSink
from local.emulator.model_data import Bucketed, ModelDataError, bring
from local.emulator.records import VariantPlan
from local.emulator.scope import Scope


class RunnableImage(Protocol):
    """What an image becomes on this machine: a command that is the image's entry point."""

    @property
    def command(self) -> Sequence[str]: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def cwd(self) -> Path: ...
    @property
    def release(self) -> Callable[[], None]: ...


@dataclass(frozen=True, kw_only=True)
class ContainerTools:
    """What a container needs of its surroundings. prepare: image by digest → how to run it; may take minutes.
    objects_as: role ARN, session name → S3 with the rights of that role.
    """

    prepare: Callable[[str], RunnableImage]
    objects_as: Callable[[str, str], Bucketed]
    log_writer: Callable[[Scope, str, str], LineWriter]
    work: Path
    logs: Path
    base_env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a container's log goes, and what SageMaker calls the container's user when it does not get well."""

    group: str
    stream: str
    file: Path
    user: str
    instance: str


def launch(
    tools: ContainerTools, scope: Scope, endpoint: str, plan: VariantPlan, cancelled: Callable[[], bool]
) -> Container:
    """The container of an endpoint's variant; started again when it ends. Raises LaunchError."""
    instance = new_instance()
    place = Place(
        group=f"/aws/sagemaker/Endpoints/{endpoint}",
        stream=f"{plan.name}/{instance}",
        file=tools.logs / "endpoints" / f"{endpoint}-{plan.name}-{instance}.log",
        user=f"production variant {plan.name}",
        instance=instance,
    )
    container = start(tools, scope, place, plan, cancelled)
    container.keep_alive()
    return container


def new_instance() -> str:
    return f"i-{uuid.uuid4().hex[:17]}"


def start(
    tools: ContainerTools, scope: Scope, place: Place, plan: VariantPlan, cancelled: Callable[[], bool]
) -> Container:
    """Pulls, brings the model, starts, waits for health. Raises LaunchError; then nothing is left of it."""
    group, stream = place.group, place.stream
    sink = LogSink(path=place.file, also=tools.log_writer(scope, group, stream))
    folder = tools.work / place.instance
    image: RunnableImage | None = None
    try:
        image = tools.prepare(plan.image)
        if plan.model_data_url:
            bring(plan.model_data_url, folder, tools.objects_as(plan.role_arn, "SageMaker"))
        else:
            folder.mkdir(parents=True)
        env = {**tools.base_env, **image.env, "DECISION_HOST": "127.0.0.1", "DECISION_MODEL_PATH": str(folder)}
        container = Container(
            command=image.command,
            env={**env, **plan.environment},
            cwd=image.cwd,
            folder=folder,
            sink=sink,
            release=image.release,
        )
    except ModelDataError as error:
        _give_up(sink, folder, image)
        raise LaunchError(str(error)) from error
    except Exception as error:
        sink.write(f"[emulator] {type(error).__name__}: {error}")
        _give_up(sink, folder, image)
        raise LaunchError(f"The image {plan.image} cannot be run here: {error}") from error
    container.log_group, container.log_stream = group, stream
    try:
        container.await_health(plan.startup_timeout, cancelled)
    except LaunchError as error:
        tail = "\n".join(sink.tail()[-12:])
        container.stop()
        raise LaunchError(
            f"The primary container for {place.user} did not pass the ping health check. "
            f"Please check CloudWatch logs for this endpoint. ({error}; log group {group}, stream {stream})\n{tail}"
        ) from error
    return container


def _give_up(sink: LogSink, folder: Path, image: RunnableImage | None) -> None:
    sink.close()
    if image is not None:
        image.release()
    shutil.rmtree(folder, ignore_errors=True)
