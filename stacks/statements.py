"""Statements that several roles have in common. Knows no principal."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs


def allow(
    role: iam.Role, actions: list[str], resources: list[str], **conditions: Mapping[str, str | list[str]]
) -> None:
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions or None))


def may_read_below(role: iam.Role, bucket_arn: str, prefix: str) -> None:
    """prefix ends in "/"."""
    allow(role, ["s3:GetObject"], [f"{bucket_arn}/{prefix}*"])
    allow(role, ["s3:ListBucket"], [bucket_arn], StringLike={"s3:prefix": [f"{prefix}*"]})


def may_use_data_key(role: iam.Role, key_arn: str, *, writes: bool) -> None:
    """Through S3 only: reads what the key encrypts there, and writes anew."""
    through_s3 = {"kms:ViaService": f"s3.{Aws.REGION}.{Aws.URL_SUFFIX}"}
    allow(
        role,
        ["kms:Decrypt", "kms:GenerateDataKey"] if writes else ["kms:Decrypt"],
        [key_arn],
        StringEquals=through_s3,
    )


def may_log(role: iam.Role, log_group: logs.ILogGroup, *more: str) -> None:
    allow(role, ["logs:CreateLogStream", "logs:PutLogEvents", *more], [log_group.log_group_arn])
