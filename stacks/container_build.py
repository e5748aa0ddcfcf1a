"""The CodeBuild project that makes the container image, and the request that says what to make it from."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.build_project import build_project
from stacks.build_request import BuildRequest
from stacks.instance_types import Processor
from stacks.settings import BuiltImage
from stacks.source_commit import source_commit
from stacks.source_tree import read_source_tree

# AWS's llama.cpp images for SageMaker, by digest: server-sagemaker-cpu-v1 and server-sagemaker-cuda-v1.
_BASE_REPOSITORY = "public.ecr.aws/deep-learning-containers/llama-cpp"
BASE_IMAGES: dict[Processor, str] = {
    "cpu": f"{_BASE_REPOSITORY}@sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43",
    "cuda": f"{_BASE_REPOSITORY}@sha256:9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36",
}
_COPIES = frozenset({"container/buildspec.yml", "container/image_build.py", "container/image_order.py"})
_NO_PROSE = ":(exclude,glob)**/*.md"


def image_request(root: Path, *, target: Processor, image: BuiltImage) -> BuildRequest:
    """All of container/ (Dockerfile, buildspec and code), base image, target and libraries shape the image."""
    libraries = "base" if image.libraries == "base" else f"{image.libraries}-{target}"
    return BuildRequest(
        kind="image",
        source=read_source_tree(root, "container"),
        variables={"TARGET": target, "BASE_IMAGE": BASE_IMAGES[target], "LIBRARIES": libraries},
        commit=source_commit(root, "container", _NO_PROSE),
    )


def standard_image_request(root: Path, *, target: Processor) -> BuildRequest:
    """AWS's own image of the target, copied as it is. Only what copies it shapes the result, not our server."""
    return BuildRequest(
        kind="image",
        source=read_source_tree(root, "container", wanted=_COPIES.__contains__),
        variables={"TARGET": f"standard-{target}", "BASE_IMAGE": BASE_IMAGES[target]},
        commit=source_commit(root, *sorted(_COPIES)),
    )


class ContainerBuild(Construct):
    """Exposes `project`."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bucket: s3.IBucket,
        repository: ecr.IRepository,
        role: iam.Role,
        log_group: logs.ILogGroup,
    ) -> None:
        super().__init__(scope, id_)
        self.project = build_project(
            self,
            "Project",
            description="Builds, checks and pushes the container image of a decision endpoint",
            buildspec="container/buildspec.yml",
            privileged=True,  # docker runs inside the build
            variables={
                "ARTIFACT_BUCKET": bucket.bucket_name,
                "REPOSITORY_NAME": repository.repository_name,
                "REPOSITORY_URI": repository.repository_uri,
            },
            bucket=bucket,
            role=role,
            log_group=log_group,
        )
