"""What SageMaker may do for one endpoint: the role of its instances and of its bulk jobs, with no right to spare.

No `*` action. A `*` resource stands only where IAM knows no narrower one: the call that hands out registry tokens,
those that only look at a VPC, and the instances' figures for CloudWatch, which a condition binds to their namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.endpoint_objects import EndpointObjects
from stacks.network import VpcAccess
from stacks.settings import Keys
from stacks.statements import NOTHING_NARROWER, allow, may_log, may_read_below, may_use_data_key, role_for

_OWN_OBJECTS = "Below the prefix of this one endpoint, where callers and SageMaker name the objects"


@dataclass(frozen=True, kw_only=True)
class ModelObjects:
    """Where SageMaker reads the model archive. prefix ends in "/"."""

    bucket_arn: str
    prefix: str


@dataclass(frozen=True, kw_only=True)
class EndpointUses:
    """What an endpoint does with its own objects in the artifact bucket."""

    asynchronous: bool
    capture: bool
    bulk: bool


def execution_role(
    scope: Construct,
    id_: str,
    *,
    model: ModelObjects | None,
    repository_arn: str,
    log_group: logs.ILogGroup,
    bucket_arn: str,
    objects: EndpointObjects,
    uses: EndpointUses,
    vpc: VpcAccess | None,
    keys: Keys,
    rollback_alarm_names: Sequence[str],
) -> iam.Role:
    """SageMaker, on the instances of endpoint and bulk jobs: reads model archives, pulls the image, writes the log and
    figures of the instances, and what `uses` says of the endpoint's own objects in the artifact bucket.

    model: None where the container downloads it from the hub. The whole prefix, not one key: while an update runs, and
    after one is rolled back, instances still start from the key before; and a policy that never changes cannot lag
    behind a model that needs it.
    """
    role = role_for(scope, id_, service="sagemaker")
    if model is not None:
        may_read_below(
            role,
            model.bucket_arn,
            model.prefix,
            why="Archives are named by their hash; while an update runs or is rolled back, the one before is read, too",
        )
    allow(
        role, ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], [repository_arn]
    )
    allow(role, ["ecr:GetAuthorizationToken"], ["*"], why_wildcard=NOTHING_NARROWER)
    may_log(role, log_group, "logs:DescribeLogStreams")
    namespaces = ["/aws/sagemaker/Endpoints"]
    if uses.bulk:
        namespaces.append("/aws/sagemaker/TransformJobs")
        _may_log_transform_jobs(role)
    # The namespaces are those of the instances' own figures.
    allow(
        role,
        ["cloudwatch:PutMetricData"],
        ["*"],
        why_wildcard=NOTHING_NARROWER,
        conditions={"StringEquals": {"cloudwatch:namespace": namespaces}},
    )
    if rollback_alarm_names:
        # SageMaker looks at them with this role while an update bakes.
        allow(role, ["cloudwatch:DescribeAlarms"], [_alarm_arn(role, each) for each in rollback_alarm_names])
    _may_use_objects(role, bucket_arn, objects, uses)
    if vpc is not None:
        vpc.allow_joining(role)
    if keys.data is not None:
        may_use_data_key(role, keys.data, writes=uses.asynchronous or uses.capture or uses.bulk)
    if keys.volume is not None:
        # For the volumes that EC2 attaches, and for nobody else.
        allow(role, ["kms:CreateGrant"], [keys.volume], conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}})
        allow(role, ["kms:DescribeKey"], [keys.volume])
    return role


def _may_use_objects(role: iam.Role, bucket_arn: str, objects: EndpointObjects, uses: EndpointUses) -> None:
    inputs, outputs = [], []
    if uses.asynchronous:
        inputs.append(objects.async_input)
        outputs += [objects.async_output, objects.async_failures]
    if uses.bulk:
        inputs.append(objects.bulk_input)
        outputs.append(objects.bulk_output)
    if uses.capture:
        outputs.append(objects.capture)
    for prefix in inputs:
        may_read_below(role, bucket_arn, prefix, why=_OWN_OBJECTS)
    if outputs:
        allow(
            role,
            ["s3:PutObject", "s3:AbortMultipartUpload"],
            [f"{bucket_arn}/{prefix}*" for prefix in outputs],
            why_wildcard=_OWN_OBJECTS,
        )


def _may_log_transform_jobs(role: iam.Role) -> None:
    """The one log group that SageMaker uses for all bulk jobs of the account, and makes where it is missing."""
    group = Stack.of(role).format_arn(
        service="logs",
        resource="log-group",
        resource_name="/aws/sagemaker/TransformJobs",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    allow(
        role,
        ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        [group, f"{group}:*"],
        why_wildcard="SageMaker names the streams after jobs, and jobs are named when they start",
    )


def _alarm_arn(role: iam.Role, name: str) -> str:
    return Stack.of(role).format_arn(
        service="cloudwatch", resource="alarm", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
