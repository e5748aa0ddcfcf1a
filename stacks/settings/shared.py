"""Reads what all endpoints of an environment share: network, keys, whom to tell, budget, tags."""

from __future__ import annotations

import re

from stacks.settings.environment_values import Budget, Keys, Network, Notifications
from stacks.settings.fields import Fields

_VPC = re.compile(r"vpc-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_SUBNET = re.compile(r"subnet-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_SECURITY_GROUP = re.compile(r"sg-(?:[0-9a-f]{8}|[0-9a-f]{17})")
_KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(?:mrk-[0-9a-f]{32}|[0-9a-f-]{36})")
_TOPIC_ARN = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_TAG_KEY = re.compile(r"[A-Za-z0-9 _.:/=+@-]{1,128}")
_TAG_VALUE = re.compile(r"[A-Za-z0-9 _.:/=+@-]{1,256}")
# AWS allows 50 on a resource; the app and the services add some.
_MOST_TAGS = 40
_OWN_TAGS = "decision-"


def network_from(environment: Fields) -> Network | None:
    if not environment.has("network"):
        return None
    network = environment.table("network")
    network.closed("security_group_ids", "subnet_ids", "vpc_id")
    vpc = network.text("vpc_id")
    if not _VPC.fullmatch(vpc):
        raise network.error("vpc_id", "the id of a VPC, as vpc-0123456789abcdef0, needed")
    groups: tuple[str, ...] = ()
    if network.has("security_group_ids"):
        groups = _ids(network, "security_group_ids", _SECURITY_GROUP, most=5, example="sg-0123456789abcdef0")
    return Network(
        vpc_id=vpc,
        subnet_ids=_ids(network, "subnet_ids", _SUBNET, most=16, example="subnet-0123456789abcdef0"),
        security_group_ids=groups,
    )


def keys_from(environment: Fields) -> Keys:
    keys = environment.table_or_empty("keys")
    keys.closed("data", "volume")
    given = {field: keys.text(field) for field in ("data", "volume") if keys.has(field)}
    for field, arn in given.items():
        if not _KEY_ARN.fullmatch(arn):
            raise keys.error(
                field,
                "arn:aws:kms:REGION:ACCOUNT:key/ID needed: an alias can be moved to another key. Remedy:"
                " `aws kms describe-key --key-id alias/NAME --query KeyMetadata.Arn` prints it",
            )
    return Keys(data=given.get("data"), volume=given.get("volume"))


def notifications_from(environment: Fields) -> Notifications:
    told = environment.table_or_empty("notifications")
    told.closed("emails", "topic_arn")
    match told.one_at_most("emails", "topic_arn"):
        case "topic_arn":
            arn = told.text("topic_arn")
            if not _TOPIC_ARN.fullmatch(arn):
                raise told.error("topic_arn", "arn:aws:sns:REGION:ACCOUNT:NAME needed")
            return Notifications(topic_arn=arn, emails=())
        case "emails":
            return Notifications(topic_arn=None, emails=_emails(told, most=100))
        case _:
            return Notifications(topic_arn=None, emails=())


def budget_from(environment: Fields) -> Budget | None:
    if not environment.has("budget"):
        return None
    budget = environment.table("budget")
    budget.closed("emails", "monthly_usd")
    # AWS Budgets tells 10 addresses at most.
    return Budget(monthly_usd=budget.number("monthly_usd", 1, 10_000_000), emails=_emails(budget, most=10))


def tags_from(environment: Fields) -> tuple[tuple[str, str], ...]:
    tags = environment.table_or_empty("tags")
    given = {key: tags.text(key) for key in tags.names()}
    if len(given) > _MOST_TAGS:
        raise environment.error("tags", f"{len(given)} tags; {_MOST_TAGS} at most allowed")
    for key, value in given.items():
        if not _TAG_KEY.fullmatch(key) or key.lower().startswith("aws:"):
            raise tags.error(
                key, "a key is 1 to 128 letters, digits, spaces and _.:/=+-@, and does not begin with aws:"
            )
        if key.lower().startswith(_OWN_TAGS):
            raise tags.error(key, f"the app's own tags begin with {_OWN_TAGS}; any other key allowed")
        if not _TAG_VALUE.fullmatch(value):
            raise tags.error(key, "a value is 1 to 256 letters, digits, spaces and _.:/=+-@")
    return tuple(sorted(given.items()))


def _ids(fields: Fields, field: str, pattern: re.Pattern[str], *, most: int, example: str) -> tuple[str, ...]:
    ids = fields.texts(field)
    if not 1 <= len(ids) <= most or len(set(ids)) != len(ids):
        raise fields.error(field, f"1 to {most} different ids needed")
    for index, each in enumerate(ids):
        if not pattern.fullmatch(each):
            raise fields.error(field, f"an id as {example} needed", index=index)
    return ids


def _emails(fields: Fields, *, most: int) -> tuple[str, ...]:
    emails = fields.texts("emails")
    if not 1 <= len(emails) <= most or len(set(emails)) != len(emails):
        raise fields.error("emails", f"1 to {most} different addresses needed")
    for index, each in enumerate(emails):
        if not _EMAIL.fullmatch(each):
            raise fields.error("emails", "an address as team@example.com needed", index=index)
    return emails
