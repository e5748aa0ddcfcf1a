"""What both CodeBuild projects have in common. Knows not what they build."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.acknowledgements import acknowledge


def build_project(
    scope: Construct,
    id_: str,
    *,
    description: str,
    buildspec: str,
    privileged: bool,
    variables: Mapping[str, str],
    bucket: s3.IBucket,
    role: iam.Role,
    log_group: logs.ILogGroup,
) -> codebuild.Project:
    """A project that stays as it is: source, trigger and all that varies come with each run."""
    project = codebuild.Project(
        scope,
        id_,
        description=description,
        # All of the role's rights are in permissions.py; the construct would add more.
        role=role.without_policy_updates(),
        source=codebuild.Source.s3(bucket=bucket, path="given-with-each-run.zip"),
        build_spec=codebuild.BuildSpec.from_source_filename(buildspec),
        environment=codebuild.BuildEnvironment(
            build_image=codebuild.LinuxBuildImage.STANDARD_7_0,
            # 8 vCPUs, 16 GB, 128 GB of disk: requantizing holds a model in memory, the CUDA image is several GB.
            compute_type=codebuild.ComputeType.LARGE,
            privileged=privileged,
        ),
        environment_variables={
            name: codebuild.BuildEnvironmentVariable(value=value) for name, value in variables.items()
        },
        # CloudFormation and the provider wait an hour. The build ends first, so that its own reason is the one shown.
        timeout=Duration.minutes(55),
        queued_timeout=Duration.minutes(5),
        grant_report_group_permissions=False,
        logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
    )
    acknowledge(project, "CB4", reason="The key is for artifacts that CodeBuild stores, and it stores none")
    return project
