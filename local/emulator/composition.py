"""The composition root: which part gets which other part. No rules of its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

from local.emulator import (
    budget_types,
    cloudformation_types,
    ecr_public,
    host,
    host_buckets,
    host_builds,
    host_iam,
    host_monitoring,
    host_repositories,
    launch,
    role_sessions,
    scaling_service,
    scaling_types,
    transform_launch,
)
from local.emulator.async_invocations import AsyncInvocations
from local.emulator.codebuild_service import BuildTools, CodeBuildService
from local.emulator.control_plane import ControlPlane
from local.emulator.endpoints import EndpointManager
from local.emulator.launch import ContainerTools, RunnableImage
from local.emulator.objects import Objects
from local.emulator.sagemaker_service import PATTERNS, SERVICE, SageMakerService
from local.emulator.scaling_service import ScalingService
from local.emulator.scope import Scope
from local.emulator.settings import EmulatorSettings
from local.emulator.transform_jobs import TransformJobs


def install(settings: EmulatorSettings, inherited: dict[str, str]) -> Callable[[], None]:
    """Adds every plug-in to ministack. Returns what ends all that they started."""
    host.require_known_ministack()
    objects = Objects(settings)
    credentials = (
        role_sessions.sessions_of(host_iam.register_session) if settings.enforce_iam else role_sessions.of_the_account
    )

    def objects_as(role_arn: str, session: str) -> Objects:
        return objects.acting_with(credentials(role_arn, session))

    tools = ContainerTools(
        prepare=_prepare(settings),
        objects_as=objects_as,
        log_writer=host_builds.log_writer,
        work=settings.state / "endpoints",
        logs=settings.logs,
        base_env=inherited,
    )

    def new_plane(scope: Scope) -> ControlPlane:
        endpoints = EndpointManager(
            scope,
            launch=functools.partial(launch.launch, tools),
            alarm_states=functools.partial(host_monitoring.alarm_states, scope),
        )
        return ControlPlane(
            scope,
            endpoints=endpoints,
            transforms=TransformJobs(scope, launch=functools.partial(transform_launch.launch, tools), objects=objects),
            queue=AsyncInvocations(scope, find=endpoints.serving, objects=objects),
            resolve_image=lambda owner, repository, tag, digest: host.image_digest(
                owner, repository, tag=tag, digest=digest
            ),
            object_exists=objects.exists,
        )

    sagemaker = SageMakerService(new_plane, put_object=objects.put)
    host.register_service(SERVICE, PATTERNS, sagemaker.answer)
    host.register_service(ecr_public.SERVICE, ecr_public.PATTERNS, ecr_public.answer)
    cloudformation_types.register(sagemaker)
    scaling = ScalingService(lambda: sagemaker.plane().scaling)
    host.register_service(scaling_service.SERVICE, scaling_service.PATTERNS, scaling.answer)
    scaling_types.register(scaling)
    budget_types.register()
    host_monitoring.install_alarms()
    host.install_blocking_types()
    host.install_content_types()
    host_iam.install()
    host_buckets.keep_tags()
    host_repositories.name_anew()
    builds = CodeBuildService(
        host_builds.BuildRegistry(),
        BuildTools(
            work=settings.state / "builds",
            logs=settings.logs,
            # As a cache of CodeBuild's would: a model that was packaged before is not downloaded again.
            base_env={"MODEL_PACKAGING_CACHE": str(settings.cache / "models"), **inherited},
            tool_path=settings.tool_path,
            url=settings.url,
            cache=settings.cache,
            open_as=lambda role_arn, session: objects_as(role_arn, session).open,
            credentials=credentials,
            secret=objects.secret,
            log_writer=host_builds.log_writer,
        ),
    )
    builds.install()

    def end() -> None:
        builds.close()
        sagemaker.close()

    host_builds.reset_hooks(end)
    return end


def _prepare(settings: EmulatorSettings) -> Callable[[str], RunnableImage]:
    module, _, function = settings.runner.partition(":")
    prepare: Callable[..., RunnableImage] = getattr(importlib.import_module(module), function)
    return functools.partial(prepare, endpoint_url=settings.url, cache_dir=settings.cache)
