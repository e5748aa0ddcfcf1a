"""The log group that an endpoint's instances write to: SageMaker gives it its name. Knows not who reads it.

It is declared in a stack that outlives the endpoint's own: of an endpoint whose creation fails CloudFormation removes
all that its stack holds, and the log is what says why it failed. The endpoint's stack takes it by name.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct


def declare_endpoint_log(
    scope: Construct, id_: str, *, endpoint_name: str, retention: logs.RetentionDays, key: kms.IKey | None
) -> None:
    """With a life span, unlike one that SageMaker makes. SageMaker may write to it, and not create it anew."""
    logs.LogGroup(
        scope,
        id_,
        log_group_name=_name(endpoint_name),
        retention=retention,
        encryption_key=key,
        removal_policy=RemovalPolicy.DESTROY,
    )


def endpoint_log(scope: Construct, id_: str, *, endpoint_name: str) -> logs.ILogGroup:
    """The one that another stack declares."""
    return logs.LogGroup.from_log_group_name(scope, id_, _name(endpoint_name))


def _name(endpoint_name: str) -> str:
    return f"/aws/sagemaker/Endpoints/{endpoint_name}"
