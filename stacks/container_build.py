"""The CodeBuild project that makes the container image, and the request that says what to make it from."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.build_request import BuildRequest
from stacks.instance_types import Processor
from stacks.source_tree import read_source_tree

# AWS's llama.cpp images for SageMaker, by digest: server-sagemaker-cpu-v1 and server-sagemaker-cuda-v1.
_BASE_REPOSITORY = "public.ecr.aws/deep-learning-containers/llama-cpp"
BASE_IMAGES: dict[Processor, str] = {
    "cpu": f"{_BASE_REPOSITORY}@sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43",
    "cuda": f"{_BASE_REPOSITORY}@sha256:9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36",
}


def image_request(root: Path, *, target: Processor) -> BuildRequest:
    """All of container/ (Dockerfile, buildspec and code), the base image and the target shape the image."""
    return BuildRequest(
        kind="image",
        source=read_source_tree(root, "container"),
        variables={"TARGET": target, "BASE_IMAGE": BASE_IMAGES[target]},
    )


class ContainerBuild(Construct):
    """Exposes `project`. The source and what varies come with each run; the project itself stays as it is."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        role: iam.IRole,
        log_group: logs.ILogGroup,
        bucket: s3.IBucket,
        repository: ecr.IRepository,
    ) -> None:
        super().__init__(scope, id_)
        self.project = codebuild.Project(
            self,
            "Project",
            description="Builds, checks and pushes the container image of a decision endpoint",
            role=role.without_policy_updates(),
            source=codebuild.Source.s3(bucket=bucket, path="given-with-each-run.zip"),
            build_spec=codebuild.BuildSpec.from_source_filename("container/buildspec.yml"),
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.STANDARD_7_0,
                compute_type=codebuild.ComputeType.LARGE,  # llama.cpp's libraries make the CUDA image several GB
                privileged=True,  # docker runs inside the build
            ),
            environment_variables={
                "ARTIFACT_BUCKET": codebuild.BuildEnvironmentVariable(value=bucket.bucket_name),
                "REPOSITORY_NAME": codebuild.BuildEnvironmentVariable(value=repository.repository_name),
                "REPOSITORY_URI": codebuild.BuildEnvironmentVariable(value=repository.repository_uri),
            },
            # CloudFormation and the provider wait an hour: the build ends first, so that its own reason is the one shown.
            timeout=Duration.minutes(55),
            queued_timeout=Duration.minutes(5),
            grant_report_group_permissions=False,
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
        )
