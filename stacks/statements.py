"""Statements that several roles have in common. Knows no principal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.acknowledgements import acknowledge_wildcards

NOTHING_NARROWER = "IAM knows no resource for this call"
Conditions: TypeAlias = "Mapping[str, Mapping[str, str | list[str]]]"


def role_for(scope: Construct, id_: str, *, service: str) -> iam.Role:
    """A role that `service` (as `codebuild`) takes on for resources of this account only."""
    own = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
    return iam.Role(scope, id_, assumed_by=iam.ServicePrincipal(f"{service}.amazonaws.com", conditions=own))


def allow(
    role: iam.Role,
    actions: list[str],
    resources: list[str],
    *,
    why_wildcard: str | None = None,
    conditions: Conditions | None = None,
) -> None:
    """why_wildcard: needed exactly where a resource has a `*`."""
    if any("*" in each for each in resources) != (why_wildcard is not None):
        raise ValueError(f"{role.node.path}: {actions} on {resources}: a reason is needed for a `*`, and for that only")
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions))
    if why_wildcard is not None:
        acknowledge_wildcards(role, resources, reason=why_wildcard)


def may_read_below(role: iam.Role, bucket_arn: str, prefix: str, *, why: str) -> None:
    """prefix ends in "/". why: not one key."""
    allow(role, ["s3:GetObject"], [f"{bucket_arn}/{prefix}*"], why_wildcard=why)
    allow(role, ["s3:ListBucket"], [bucket_arn], conditions={"StringLike": {"s3:prefix": [f"{prefix}*"]}})


def may_use_data_key(role: iam.Role, key_arn: str, *, writes: bool) -> None:
    """Through S3 only: reads what the key encrypts there, and writes anew."""
    through_s3 = {"kms:ViaService": f"s3.{Aws.REGION}.{Aws.URL_SUFFIX}"}
    allow(
        role,
        ["kms:Decrypt", "kms:GenerateDataKey"] if writes else ["kms:Decrypt"],
        [key_arn],
        conditions={"StringEquals": through_s3},
    )


def may_log(role: iam.Role, log_group: logs.ILogGroup, *more: str) -> None:
    """A group that is known by name has its streams in its ARN as `:*`, one of this stack when it is deployed."""
    arn = log_group.log_group_arn
    allow(
        role,
        ["logs:CreateLogStream", "logs:PutLogEvents", *more],
        [arn],
        why_wildcard="The streams of the one group, named by who writes them" if "*" in arn else None,
    )
