"""What all endpoints of an environment share: read as given, or refused with name, value, limit and remedy."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.settings import Budget, Keys, Network, Notifications
from stacks.settings.environment import environment_from_context

from .conftest import ROOT
from .environments import endpoint_of, least, read, refusal, with_tables

VPC, SUBNET, GROUP = "vpc-0123456789abcdef0", "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/12345678-1234-1234-1234-123456789012"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:on-call"


def test_everything_an_environment_shares_is_read_as_given() -> None:
    environment = read(
        least()
        | {
            "ephemeral": True,
            "log_retention_days": 7,
            "network": {"vpc_id": VPC, "subnet_ids": [SUBNET, "subnet-01234567"], "security_group_ids": [GROUP]},
            "keys": {"data": KEY, "volume": KEY.replace("12345678-", "87654321-")},
            "notifications": {"topic_arn": TOPIC},
            "budget": {"monthly_usd": 500, "emails": ["a@example.com", "b@example.com"]},
            "tags": {"team": "routing", "cost-center": "42"},
        }
    )
    assert (environment.ephemeral, environment.log_retention_days) == (True, 7)
    assert environment.network == Network(
        vpc_id=VPC, subnet_ids=(SUBNET, "subnet-01234567"), security_group_ids=(GROUP,)
    )
    assert environment.keys == Keys(data=KEY, volume=KEY.replace("12345678-", "87654321-"))
    assert environment.notifications == Notifications(topic_arn=TOPIC, emails=())
    assert environment.budget == Budget(monthly_usd=500, emails=("a@example.com", "b@example.com"))
    assert environment.tags == (("cost-center", "42"), ("team", "routing"))


def test_each_part_of_a_table_can_be_left_out_alone() -> None:
    environment = read(
        least()
        | {
            "network": {"vpc_id": VPC, "subnet_ids": [SUBNET]},
            "keys": {"data": KEY},
            "notifications": {"emails": ["a@example.com"]},
        }
    )
    assert environment.network == Network(vpc_id=VPC, subnet_ids=(SUBNET,), security_group_ids=())
    assert environment.keys == Keys(data=KEY, volume=None)
    assert environment.notifications == Notifications(topic_arn=None, emails=("a@example.com",))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"network": {"subnet_ids": [SUBNET]}}, "network.vpc_id: missing; it has no default"),
    ({"network": {"vpc_id": VPC}}, "network.subnet_ids: missing; it has no default"),
    (
        {"network": {"vpc_id": "main", "subnet_ids": [SUBNET]}},
        "network.vpc_id: 'main' given; the id of a VPC, as vpc-0123456789abcdef0, needed",
    ),
    (
        {"network": {"vpc_id": VPC, "subnet_ids": []}},
        "network.subnet_ids: [] given; 1 to 16 different ids needed",
    ),
    (
        {"network": {"vpc_id": VPC, "subnet_ids": [SUBNET, SUBNET]}},
        f"network.subnet_ids: ['{SUBNET}', '{SUBNET}'] given; 1 to 16 different ids needed",
    ),
    (
        {"network": {"vpc_id": VPC, "subnet_ids": [SUBNET, GROUP]}},
        f"network.subnet_ids[1]: '{GROUP}' given; an id as subnet-0123456789abcdef0 needed",
    ),
    (
        {"network": {"vpc_id": VPC, "subnet_ids": [SUBNET], "security_group_ids": ["default"]}},
        "network.security_group_ids[0]: 'default' given; an id as sg-0123456789abcdef0 needed",
    ),
    (
        {"network": {"vpc_id": VPC, "subnet_ids": [SUBNET], "security_group_ids": []}},
        "network.security_group_ids: [] given; 1 to 5 different ids needed",
    ),
    ({"network": {"vpc": VPC}}, "network.vpc: unknown; allowed here: security_group_ids, subnet_ids, vpc_id"),
    (
        {"keys": {"data": "alias/mine"}},
        "keys.data: 'alias/mine' given; arn:aws:kms:REGION:ACCOUNT:key/ID needed: an alias can be moved to another key."
        " Remedy: `aws kms describe-key --key-id alias/NAME --query KeyMetadata.Arn` prints it",
    ),
    ({"keys": {"all": KEY}}, "keys.all: unknown; allowed here: data, volume"),
    (
        {"notifications": {"topic_arn": TOPIC, "emails": ["a@example.com"]}},
        "notifications: emails and topic_arn given, which exclude each other; 1 allowed",
    ),
    (
        {"notifications": {"topic_arn": "on-call"}},
        "notifications.topic_arn: 'on-call' given; arn:aws:sns:REGION:ACCOUNT:NAME needed",
    ),
    ({"notifications": {"emails": []}}, "notifications.emails: [] given; 1 to 100 different addresses needed"),
    (
        {"notifications": {"emails": ["a@example.com", "on call"]}},
        "notifications.emails[1]: 'on call' given; an address as team@example.com needed",
    ),
    ({"notifications": {"slack": "#ops"}}, "notifications.slack: unknown; allowed here: emails, topic_arn"),
    ({"budget": {"monthly_usd": 500}}, "budget.emails: missing; it has no default"),
    ({"budget": {"emails": ["a@example.com"]}}, "budget.monthly_usd: missing; it has no default"),
    (
        {"budget": {"monthly_usd": 0, "emails": ["a@example.com"]}},
        "budget.monthly_usd: 0 given; 1 to 10000000 allowed",
    ),
    (
        {"budget": {"monthly_usd": 5, "emails": [f"{each}@example.com" for each in range(11)]}},
        "budget.emails: ['0@example.com', '1@example.com', '2@example.com', '3@example.com', '4@example.com', "
        "'5@example.com', '6@example.com', '7@example.com', '8@example.com', '9@example.com', '10@example.com'] given;"
        " 1 to 10 different addresses needed",
    ),
    ({"budget": {"limit": 5}}, "budget.limit: unknown; allowed here: emails, monthly_usd"),
    (
        {"tags": {"aws:team": "x"}},
        "tags.aws:team: 'x' given; a key is 1 to 128 letters, digits, spaces and _.:/=+-@, and does not begin with ",
    ),
    (
        {"tags": {"team#": "x"}},
        "tags.team#: 'x' given; a key is 1 to 128 letters, digits, spaces and _.:/=+-@, and does not begin with aws:",
    ),
    (
        {"tags": {"Decision-Environment": "x"}},
        "tags.Decision-Environment: 'x' given; the app's own tags begin with decision-; any other key allowed",
    ),
    (
        {"tags": {"decision-environment": "x"}},
        "tags.decision-environment: 'x' given; the app's own tags begin with decision-; any other key allowed",
    ),
    (
        {"tags": {"team": "a, b"}},
        "tags.team: 'a, b' given; a value is 1 to 256 letters, digits, spaces and _.:/=+-@",
    ),
    ({"tags": {"team": 7}}, "tags.team: 7 given; a non-empty string is needed"),
    (
        {"endpoints": {}},
        "endpoints: {} given; 1 or more needed, by key; the shipped environments call theirs 'scoring'",
    ),
    ({"endpoints": []}, "endpoints: [] given; an object is needed"),
    (
        {"endpoints": {"builds": {}}},
        "endpoints.builds: the key of another stack; any but artifacts, builds, operations allowed",
    ),
    (
        {"endpoints": {"a-b": {}}},
        "endpoints: the key 'a-b' given; it names stack and endpoint: 1 to 20 of a-z and 0-9, a letter first, needed",
    ),
    ({"endpoints": {"x" * 21: {}}}, f"endpoints: the key '{'x' * 21}' given; it names stack and endpoint: 1 to 20"),
    ({"endpoints": {"scoring": 7}}, "endpoints.scoring: 7 given; an object is needed"),
    ({"endpoints": {"scoring": {}}}, "endpoints.scoring.kind: missing; it has no default"),
]


@pytest.mark.parametrize(("tables", "expected"), REFUSED, ids=[case[1][:60] for case in REFUSED])
def test_what_cannot_be_shared_is_refused_by_name(tables: dict[str, Any], expected: str) -> None:
    assert refusal(least() | tables).startswith(expected)


def test_as_much_as_aws_allows_is_accepted() -> None:
    subnets = [f"subnet-{number:08x}" for number in range(16)]
    groups = [f"sg-{number:08x}" for number in range(5)]
    emails = [f"{number}@example.com" for number in range(10)]
    environment = read(
        least()
        | {
            "network": {"vpc_id": "vpc-01234567", "subnet_ids": subnets, "security_group_ids": groups},
            "keys": {"data": "arn:aws:kms:eu-west-1:012345678901:key/mrk-" + "0123456789abcdef" * 2},
            "notifications": {"emails": [f"{number}@example.com" for number in range(100)]},
            "budget": {"monthly_usd": 10_000_000, "emails": emails},
        }
    )
    assert environment.network == Network(
        vpc_id="vpc-01234567", subnet_ids=tuple(subnets), security_group_ids=tuple(groups)
    )
    assert environment.budget == Budget(monthly_usd=10_000_000, emails=tuple(emails))
    assert len(environment.notifications.emails) == 100


def test_41_tags_are_more_than_fit() -> None:
    assert "; 41 tags; 40 at most allowed" in refusal(least() | {"tags": {f"k{each}": "v" for each in range(41)}})
    assert len(read(least() | {"tags": {f"k{each}": "v" for each in range(40)}}).tags) == 40


@pytest.mark.parametrize("instance_type", ["ml.c5d.xlarge", "ml.m5d.large", "ml.r5d.large"])
def test_a_volume_key_is_refused_with_local_nvme(instance_type: str) -> None:
    environment = with_tables(least(), hosting={"instance_type": instance_type}) | {"keys": {"volume": KEY}}
    assert refusal(environment) == (
        f"keys.volume: '{KEY}' given; endpoint 'scoring' has {instance_type}, whose storage is local NVMe with"
        " encryption of its own, and SageMaker takes no key for it. Remedy: leave keys.volume out, or other instances"
    )


def test_a_volume_key_is_refused_with_any_gpu_pool_and_with_a_bulk_job_on_a_gpu() -> None:
    assert "'scoring' has ml.g6e.xlarge" in refusal(least("cuda") | {"keys": {"volume": KEY}})
    assert endpoint_of(with_tables(least(), bulk={}) | {"keys": {"volume": KEY}}).bulk is not None


def test_the_longest_names_fit_into_what_sagemaker_allows() -> None:
    name, key = "e" * 30, "k" * 20
    settings = least()
    settings["endpoints"] = {key: settings["endpoints"]["scoring"]}
    environment = environment_from_context(name=name, environments={name: settings}, root=ROOT)
    assert len(environment.endpoints[0].name) <= 63


def test_no_two_environments_can_name_the_same_stack() -> None:
    """`decision-a-b-c` would be both endpoint b-c of a, and endpoint c of a-b: a key has no hyphen."""
    settings = least()
    settings["endpoints"] = {"b-c": settings["endpoints"]["scoring"]}
    assert "the key 'b-c' given" in refusal(settings)


IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/x@sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (
            {"keys": {"data": KEY, "volume": KEY.replace("eu-west-1", "eu-west-2")}},
            f"keys.volume: '{KEY.replace('eu-west-1', 'eu-west-2')}' given; it is in eu-west-2, and keys.data in"
            " eu-west-1; an environment is in one region. Remedy: one of that region",
        ),
        (
            {"keys": {"volume": KEY}, "notifications": {"topic_arn": TOPIC.replace("eu-west-1", "us-east-1")}},
            "notifications.topic_arn: 'arn:aws:sns:us-east-1:123456789012:on-call' given; it is in us-east-1, and"
            " keys.volume in eu-west-1;",
        ),
        (
            with_tables(least(), container={"target": "cpu", "image_uri": IMAGE}) | {"keys": {"data": KEY}},
            f"endpoints.scoring.container.image_uri: '{IMAGE}' given; it is in us-east-1, and keys.data in eu-west-1;",
        ),
    ],
    ids=["keys", "topic", "image"],
)
def test_what_is_named_of_two_regions_is_refused(tables: dict[str, Any], expected: str) -> None:
    assert refusal(least() | tables).startswith(expected)
