"""Who may do what in the builds: one function a principal, each with the rights it needs and no others.

No `*` action anywhere. A `*` resource stands only where IAM knows no narrower one: the calls that hand out registry
tokens. data_key_arn: the KMS key of bucket and log groups, or None for the services' own.
"""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.statements import NOTHING_NARROWER, allow, may_log, may_use_data_key, role_for

_ANY_SOURCE = "The zip files of builds, named by their hash; an older one is read when an update is rolled back"
_ANY_RESULT = "Results and archives are named by hashes that nobody knows before the build"


def model_build_role(
    scope: Construct,
    id_: str,
    *,
    bucket_arn: str,
    sources_arn: str,
    log_group: logs.ILogGroup,
    data_key_arn: str | None,
) -> iam.Role:
    """CodeBuild, packaging: reads its source, puts model archives and its result, and asks what is there already."""
    role = role_for(scope, id_, service="codebuild")
    allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [sources_arn], why_wildcard=_ANY_SOURCE)
    # GetObject: the checksum that S3 has of an object, without which nobody knows what is there.
    models = ["s3:PutObject", "s3:GetObject", "s3:AbortMultipartUpload"]
    allow(role, models, [f"{bucket_arn}/models/*"], why_wildcard=_ANY_RESULT)
    allow(role, ["s3:PutObject"], [f"{bucket_arn}/results/model-*"], why_wildcard=_ANY_RESULT)
    # What is there already is found by listing.
    allow(role, ["s3:ListBucket"], [bucket_arn])
    may_log(role, log_group)
    if data_key_arn is not None:
        may_use_data_key(role, data_key_arn, writes=True)
    return role


def image_build_role(
    scope: Construct,
    id_: str,
    *,
    bucket_arn: str,
    repository_arn: str,
    sources_arn: str,
    log_group: logs.ILogGroup,
    data_key_arn: str | None,
) -> iam.Role:
    """CodeBuild, container image: reads its source, looks up and pushes images of one repository, puts its result."""
    role = role_for(scope, id_, service="codebuild")
    allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [sources_arn], why_wildcard=_ANY_SOURCE)
    allow(role, ["s3:PutObject"], [f"{bucket_arn}/results/image-*"], why_wildcard=_ANY_RESULT)
    allow(
        role,
        [
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:CompleteLayerUpload",
            "ecr:DescribeImages",
            "ecr:GetDownloadUrlForLayer",
            "ecr:InitiateLayerUpload",
            "ecr:PutImage",
            "ecr:UploadLayerPart",
        ],
        [repository_arn],
    )
    # Tokens for the private registry and for ECR Public, where the base image is.
    allow(
        role,
        ["ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"],
        ["*"],
        why_wildcard=NOTHING_NARROWER,
    )
    may_log(role, log_group)
    if data_key_arn is not None:
        may_use_data_key(role, data_key_arn, writes=True)
    return role


def build_run_role(
    scope: Construct,
    id_: str,
    *,
    bucket_arn: str,
    repository_arn: str,
    project_arns: list[str],
    build_log_streams_arns: list[str],
    log_group: logs.ILogGroup,
    data_key_arn: str | None,
) -> iam.Role:
    """The custom resource's own functions: start and watch the two builds, read results and the end of a log.

    A result that names an archive or image that is gone is deleted, so that the build writes it anew.
    """
    role = lambda_role(scope, id_, log_group=log_group)
    allow(role, ["codebuild:StartBuild", "codebuild:BatchGetBuilds"], project_arns)
    allow(role, ["s3:GetObject"], [f"{bucket_arn}/results/*", f"{bucket_arn}/models/*"], why_wildcard=_ANY_RESULT)
    allow(role, ["s3:DeleteObject"], [f"{bucket_arn}/results/*"], why_wildcard=_ANY_RESULT)
    allow(role, ["s3:ListBucket"], [bucket_arn])  # a missing result answers 404 instead of 403
    allow(role, ["ecr:DescribeImages"], [repository_arn])
    allow(
        role, ["logs:GetLogEvents"], build_log_streams_arns, why_wildcard="CodeBuild names the streams after its builds"
    )
    if data_key_arn is not None:
        may_use_data_key(role, data_key_arn, writes=False)
    return role


def lambda_role(scope: Construct, id_: str, *, log_group: logs.ILogGroup) -> iam.Role:
    """A function that writes to its own log group and, so far, nothing else."""
    role = iam.Role(scope, id_, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    may_log(role, log_group)
    return role


def asset_objects_arn(bucket_name: str) -> str:
    """The zip files in the bucket that `cdk bootstrap` made. Any of them: CDK, too, grants the bucket and not one key,
    since an older key is read when an update is rolled back."""
    return f"arn:{Aws.PARTITION}:s3:::{bucket_name}/*.zip"
