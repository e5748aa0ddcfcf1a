"""The CodeBuild project that packages a model, and the request that says which."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.build_request import BuildRequest
from stacks.source_tree import read_source_tree

_DECLARATIONS = "model_packaging/declarations/"


def model_request(root: Path, *, declaration: str) -> BuildRequest:
    """The packaging code and its buildspec shape the archive, and of the declarations only the one that is asked for."""
    return BuildRequest(
        kind="model",
        source=read_source_tree(
            root, "model_packaging", wanted=lambda path: not path.startswith(_DECLARATIONS) or path == declaration
        ),
        variables={"DECLARATION": declaration},
    )


class ModelBuild(Construct):
    """Exposes `project`. The source and what varies come with each run; the project itself stays as it is."""

    def __init__(
        self, scope: Construct, id_: str, *, role: iam.IRole, log_group: logs.ILogGroup, bucket: s3.IBucket
    ) -> None:
        super().__init__(scope, id_)
        self.project = codebuild.Project(
            self,
            "Project",
            description="Downloads, verifies and packages the model of a decision endpoint",
            role=role.without_policy_updates(),
            source=codebuild.Source.s3(bucket=bucket, path="given-with-each-run.zip"),
            build_spec=codebuild.BuildSpec.from_source_filename("model_packaging/buildspec.yml"),
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.STANDARD_7_0,
                compute_type=codebuild.ComputeType.LARGE,  # requantizing holds a model in memory: 16 GB here
                privileged=False,
            ),
            environment_variables={"ARTIFACT_BUCKET": codebuild.BuildEnvironmentVariable(value=bucket.bucket_name)},
            # CloudFormation and the provider wait an hour: the build ends first, so that its own reason is the one shown.
            timeout=Duration.minutes(55),
            queued_timeout=Duration.minutes(5),
            grant_report_group_permissions=False,
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
        )
