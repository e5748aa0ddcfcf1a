"""Who may do what: one function a principal, each with the rights it needs and no others.

No `*` action anywhere. A `*` resource stands only where IAM knows no narrower one: the calls that
hand out registry tokens.
"""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct


def model_build_role(
    scope: Construct, id_: str, *, bucket_arn: str, sources_arn: str, log_group: logs.ILogGroup
) -> iam.Role:
    """CodeBuild, packaging: reads its source, puts model archives and its result."""
    role = iam.Role(scope, id_, assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
    _allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [sources_arn])
    _allow(role, ["s3:PutObject", "s3:AbortMultipartUpload"], [f"{bucket_arn}/models/*"])
    _allow(role, ["s3:PutObject"], [f"{bucket_arn}/results/model-*"])
    # What is there already is found by listing.
    _allow(role, ["s3:ListBucket"], [bucket_arn])
    _may_log(role, log_group)
    return role


def image_build_role(
    scope: Construct, id_: str, *, bucket_arn: str, repository_arn: str, sources_arn: str, log_group: logs.ILogGroup
) -> iam.Role:
    """CodeBuild, container image: reads its source, looks up and pushes images of one repository, puts its result."""
    role = iam.Role(scope, id_, assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
    _allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [sources_arn])
    _allow(role, ["s3:PutObject"], [f"{bucket_arn}/results/image-*"])
    _allow(
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
    _allow(role, ["ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"], ["*"])
    _may_log(role, log_group)
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
) -> iam.Role:
    """The custom resource's own functions: start and watch the two builds, read results and the end of a log.

    A result that names an archive or image that is gone is deleted, so that the build writes it anew.
    """
    role = lambda_role(scope, id_, log_group=log_group)
    _allow(role, ["codebuild:StartBuild", "codebuild:BatchGetBuilds"], project_arns)
    _allow(role, ["s3:GetObject"], [f"{bucket_arn}/results/*", f"{bucket_arn}/models/*"])
    _allow(role, ["s3:DeleteObject"], [f"{bucket_arn}/results/*"])
    _allow(role, ["s3:ListBucket"], [bucket_arn])  # a missing result answers 404 instead of 403
    _allow(role, ["ecr:DescribeImages"], [repository_arn])
    _allow(role, ["logs:GetLogEvents"], build_log_streams_arns)
    return role


def lambda_role(scope: Construct, id_: str, *, log_group: logs.ILogGroup) -> iam.Role:
    """A function that writes to its own log group and, so far, nothing else."""
    role = iam.Role(scope, id_, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    _may_log(role, log_group)
    return role


def execution_role(
    scope: Construct,
    id_: str,
    *,
    model_bucket_arn: str,
    model_prefix: str,
    repository_arn: str,
    log_group: logs.ILogGroup,
) -> iam.Role:
    """SageMaker, on the endpoint's instances: reads model archives, pulls the image, writes the endpoint's log.

    model_prefix ends in "/". The whole prefix, not one key: while an update runs, and after one is rolled back,
    instances still start from the key before; and a policy that never changes cannot lag behind a model that needs it.
    """
    role = iam.Role(scope, id_, assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    _allow(role, ["s3:GetObject"], [f"{model_bucket_arn}/{model_prefix}*"])
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[model_bucket_arn],
            conditions={"StringLike": {"s3:prefix": [f"{model_prefix}*"]}},
        )
    )
    _allow(
        role, ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], [repository_arn]
    )
    _allow(role, ["ecr:GetAuthorizationToken"], ["*"])
    _may_log(role, log_group, "logs:DescribeLogStreams")
    return role


def asset_objects_arn(bucket_name: str) -> str:
    """The zip files in the bucket that `cdk bootstrap` made. Any of them: CDK, too, grants the bucket and not one key,
    since an older key is read when an update is rolled back."""
    return f"arn:{Aws.PARTITION}:s3:::{bucket_name}/*.zip"


def _allow(role: iam.Role, actions: list[str], resources: list[str]) -> None:
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=resources))


def _may_log(role: iam.Role, log_group: logs.ILogGroup, *more: str) -> None:
    _allow(role, ["logs:CreateLogStream", "logs:PutLogEvents", *more], [log_group.log_group_arn])
