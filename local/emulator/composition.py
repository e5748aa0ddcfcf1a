"""The composition root: which part gets which other part. No rules of its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import IO, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from local.emulator import autoscaling_types, cloudformation_types, ecr_public, host, host_builds, launch
from local.emulator.codebuild_service import BuildTools, CodeBuildService
from local.emulator.control_plane import ControlPlane
from local.emulator.endpoints import EndpointManager
from local.emulator.launch import ContainerTools, RunnableImage
from local.emulator.model_data import split_s3_url
from local.emulator.sagemaker_service import PATTERNS, SERVICE, SageMakerService
from local.emulator.scope import Scope
from local.emulator.settings import EmulatorSettings


def install(settings: EmulatorSettings, inherited: dict[str, str]) -> Callable[[], None]:
    """Adds every plug-in to ministack. Returns what ends all that they started."""
    host.require_known_ministack()
    objects = _Objects(settings)
    tools = ContainerTools(
        prepare=_prepare(settings),
        open_object=objects.open,
        log_writer=host_builds.log_writer,
        work=settings.state / "endpoints",
        logs=settings.logs,
        base_env=inherited,
    )

    def new_plane(scope: Scope) -> ControlPlane:
        return ControlPlane(
            scope,
            endpoints=EndpointManager(scope, launch=functools.partial(launch.launch, tools)),
            resolve_image=lambda owner, repository, tag, digest: host.image_digest(
                owner, repository, tag=tag, digest=digest
            ),
            object_exists=objects.exists,
        )

    sagemaker = SageMakerService(new_plane)
    host.register_service(SERVICE, PATTERNS, sagemaker.answer)
    host.register_service(ecr_public.SERVICE, ecr_public.PATTERNS, ecr_public.answer)
    cloudformation_types.register(sagemaker)
    autoscaling_types.register()
    host.install_blocking_types()
    host.install_content_types()
    builds = CodeBuildService(
        host_builds.BuildRegistry(),
        BuildTools(
            work=settings.state / "builds",
            logs=settings.logs,
            base_env=inherited,
            tool_path=settings.tool_path,
            url=settings.url,
            cache=settings.cache,
            open_object=objects.open,
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


class _Objects:
    """S3, Parameter Store and Secrets Manager of the emulator itself, through the official client."""

    def __init__(self, settings: EmulatorSettings) -> None:
        self._url, self._region = settings.url, settings.region

    def _client(self, service: str) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload,unused-ignore]
            endpoint_url=self._url,
            region_name=self._region,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}),
        )

    def open(self, bucket: str, key: str) -> IO[bytes]:
        try:
            body: IO[bytes] = self._client("s3").get_object(Bucket=bucket, Key=key)["Body"]
        except ClientError as error:
            raise FileNotFoundError(f"s3://{bucket}/{key}: {error}") from error
        return body

    def exists(self, url: str) -> bool:
        bucket, key = split_s3_url(url)
        try:
            self._client("s3").head_object(Bucket=bucket, Key=key)
        except ClientError:
            return False
        return True

    def secret(self, kind: str, name: str) -> str:
        """kind: PARAMETER_STORE or SECRETS_MANAGER, as CodeBuild calls them. Raises LookupError where there is none."""
        try:
            if kind == "PARAMETER_STORE":
                return str(self._client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
            return str(self._client("secretsmanager").get_secret_value(SecretId=name)["SecretString"])
        except ClientError as error:
            raise LookupError(f"{kind} {name}: {error}") from error
