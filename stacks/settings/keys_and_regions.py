"""Checks what an environment shares against its endpoints: a key against their disks, regions against each other."""

from __future__ import annotations

from stacks.instance_types import LOCAL_NVME_FAMILIES, family_of
from stacks.settings.endpoint_values import Endpoint
from stacks.settings.environment_values import Keys, Notifications
from stacks.settings.fields import Fields
from stacks.settings.instances import instance_types_of
from stacks.settings.source_values import PinnedImage


def check_volumes(fields: Fields, endpoints: tuple[Endpoint, ...]) -> None:
    """SageMaker refuses a volume key for instances whose storage is local NVMe."""
    for endpoint in endpoints:
        for instance_type in instance_types_of(endpoint):
            if family_of(instance_type) in LOCAL_NVME_FAMILIES:
                raise fields.table("keys").error(
                    "volume",
                    f"endpoint {endpoint.key!r} has {instance_type}, whose storage is local NVMe with encryption of its"
                    " own, and SageMaker takes no key for it. Remedy: leave keys.volume out, or other instances",
                )


def check_regions(fields: Fields, keys: Keys, notifications: Notifications, endpoints: tuple[Endpoint, ...]) -> None:
    """SageMaker pulls images, uses keys and CloudWatch tells topics of its own region only."""
    named = [
        (fields.table_or_empty(table), field, arn.split(":")[3])
        for table, field, arn in (
            ("keys", "data", keys.data),
            ("keys", "volume", keys.volume),
            ("notifications", "topic_arn", notifications.topic_arn),
        )
        if arn is not None
    ]
    tables = fields.tables("endpoints")
    named += [
        (tables[each.key].table("container"), "image_uri", each.image.region)
        for each in endpoints
        if isinstance(each.image, PinnedImage)
    ]
    for table, field, region in named:
        if region != named[0][2]:
            raise table.error(
                field,
                f"it is in {region}, and {named[0][0].path}.{named[0][1]} in {named[0][2]}; an environment is in one"
                " region. Remedy: one of that region",
            )
