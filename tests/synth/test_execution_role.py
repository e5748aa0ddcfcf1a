"""What SageMaker may do for an endpoint, statement by statement: nothing that a use does not need."""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_logs as logs

from stacks.endpoint_objects import EndpointObjects
from stacks.execution_role import EndpointUses, ModelObjects, execution_role
from stacks.network import VpcAccess
from stacks.settings import Keys, Network

from .conftest import only
from .lone_stack import lone_stack, plain, template_of

BUCKET = "arn:aws:s3:::artifacts"
REPOSITORY = "arn:aws:ecr:eu-west-1:123456789012:repository/images"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000"
NO_KEYS = Keys(data=None, volume=None)
NOTHING = EndpointUses(asynchronous=False, capture=False, bulk=False)
ARCHIVES = ModelObjects(bucket_arn=BUCKET, prefix="models/")
VPC = Network(vpc_id="vpc-1", subnet_ids=("subnet-1",), security_group_ids=("sg-1",))


def allowed(
    *,
    model: ModelObjects | None = ARCHIVES,
    uses: EndpointUses = NOTHING,
    network: Network | None = None,
    keys: Keys = NO_KEYS,
    alarms: tuple[str, ...] = (),
) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Statements by their actions."""
    stack = lone_stack()
    execution_role(
        stack,
        "Role",
        model=model,
        repository_arn=REPOSITORY,
        log_group=logs.LogGroup(stack, "Log"),
        bucket_arn=BUCKET,
        objects=EndpointObjects(endpoint_name="decision-dev-scoring"),
        uses=uses,
        vpc=VpcAccess(stack, "Network", network=network) if network else None,
        keys=keys,
        rollback_alarm_names=alarms,
    )
    policy = only(template_of(stack), "AWS::IAM::Policy")
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        assert statement["Effect"] == "Allow"
        actions = statement["Action"]
        resolved = {key: plain(value) for key, value in statement.items() if key in ("Resource", "Condition")}
        found.setdefault(tuple(sorted(actions) if isinstance(actions, list) else [actions]), []).append(resolved)
    return found


BASE = {
    ("s3:GetObject",),
    ("s3:ListBucket",),
    ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
    ("ecr:GetAuthorizationToken",),
    ("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
    ("cloudwatch:PutMetricData",),
}
PUT = ("s3:AbortMultipartUpload", "s3:PutObject")


def test_without_uses_it_reads_models_pulls_one_repository_and_reports() -> None:
    found = allowed()
    assert set(found) == BASE
    assert found["s3:GetObject",] == [{"Resource": f"{BUCKET}/models/*"}]
    assert found["s3:ListBucket",] == [{"Resource": BUCKET, "Condition": {"StringLike": {"s3:prefix": ["models/*"]}}}]
    assert found["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"] == [
        {"Resource": REPOSITORY}
    ]
    assert found["ecr:GetAuthorizationToken",] == [{"Resource": "*"}]
    assert found["cloudwatch:PutMetricData",] == [
        {"Resource": "*", "Condition": {"StringEquals": {"cloudwatch:namespace": ["/aws/sagemaker/Endpoints"]}}}
    ]


def test_a_model_from_the_hub_needs_no_right_to_read_any_object() -> None:
    assert set(allowed(model=None)) == BASE - {("s3:GetObject",), ("s3:ListBucket",)}


def test_asynchronous_hosting_reads_its_requests_and_writes_answers_and_failures() -> None:
    found = allowed(model=None, uses=EndpointUses(asynchronous=True, capture=False, bulk=False))
    assert found["s3:GetObject",] == [{"Resource": f"{BUCKET}/async/decision-dev-scoring/input/*"}]
    assert found[PUT] == [
        {
            "Resource": [
                f"{BUCKET}/async/decision-dev-scoring/failures/*",
                f"{BUCKET}/async/decision-dev-scoring/output/*",
            ]
        }
    ]


def test_capture_writes_below_the_endpoints_own_prefix_and_reads_nothing() -> None:
    found = allowed(model=None, uses=EndpointUses(asynchronous=False, capture=True, bulk=False))
    assert found[PUT] == [{"Resource": f"{BUCKET}/capture/decision-dev-scoring/*"}]
    assert ("s3:GetObject",) not in found


def test_bulk_jobs_read_their_input_write_their_output_and_the_log_of_all_bulk_jobs() -> None:
    found = allowed(model=None, uses=EndpointUses(asynchronous=False, capture=False, bulk=True))
    assert found["s3:GetObject",] == [{"Resource": f"{BUCKET}/bulk/decision-dev-scoring/input/*"}]
    assert found[PUT] == [{"Resource": f"{BUCKET}/bulk/decision-dev-scoring/output/*"}]
    group = "arn:aws:logs:R:A:log-group:/aws/sagemaker/TransformJobs"
    assert found["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"] == [
        {"Resource": [group, f"{group}:*"]}
    ]
    (figures,) = found["cloudwatch:PutMetricData",]
    assert figures["Condition"]["StringEquals"]["cloudwatch:namespace"] == [
        "/aws/sagemaker/Endpoints",
        "/aws/sagemaker/TransformJobs",
    ]


def test_in_a_vpc_it_changes_network_interfaces_in_the_given_subnets_only() -> None:
    found = allowed(network=VPC)
    interfaces, subnet = "arn:aws:ec2:R:A:network-interface/*", "arn:aws:ec2:R:*:subnet/subnet-1"
    assert found["ec2:CreateNetworkInterface",] == [
        {"Resource": [interfaces, "arn:aws:ec2:R:*:security-group/sg-1", subnet]}
    ]
    changes = (
        "ec2:CreateNetworkInterfacePermission",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission",
    )
    assert found[changes] == [{"Resource": interfaces, "Condition": {"ArnEquals": {"ec2:Subnet": [subnet]}}}]
    # One statement with the token call, since neither has a narrower resource.
    looks = (
        "ec2:DescribeDhcpOptions",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
        "ecr:GetAuthorizationToken",
    )
    assert found[looks] == [{"Resource": "*"}]
    assert set(found) == BASE - {("ecr:GetAuthorizationToken",)} | {("ec2:CreateNetworkInterface",), changes, looks}


def test_the_data_key_decrypts_through_s3_only_and_makes_new_data_keys_only_where_it_writes() -> None:
    through = {"StringEquals": {"kms:ViaService": "s3.R.U"}}
    keys = Keys(data=KEY, volume=None)
    assert allowed(keys=keys)["kms:Decrypt",] == [{"Resource": KEY, "Condition": through}]
    writes = EndpointUses(asynchronous=False, capture=True, bulk=False)
    assert allowed(keys=keys, uses=writes)["kms:Decrypt", "kms:GenerateDataKey"] == [
        {"Resource": KEY, "Condition": through}
    ]


def test_the_volume_key_is_granted_to_aws_resources_only() -> None:
    found = allowed(keys=Keys(data=None, volume=KEY))
    assert found["kms:CreateGrant",] == [
        {"Resource": KEY, "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}}}
    ]
    assert found["kms:DescribeKey",] == [{"Resource": KEY}]
    assert set(found) == BASE | {("kms:CreateGrant",), ("kms:DescribeKey",)}


def test_it_looks_at_the_alarms_that_roll_an_update_back_and_at_no_others() -> None:
    assert allowed(alarms=("errors", "latency"))["cloudwatch:DescribeAlarms",] == [
        {"Resource": ["arn:aws:cloudwatch:R:A:alarm:errors", "arn:aws:cloudwatch:R:A:alarm:latency"]}
    ]
