"""Tags of buckets that a stack makes: ministack drops them, and CDK's function that empties a bucket asks for one.

With the other `host` modules the only ones that know ministack's insides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.services import s3  # type: ignore[import-not-found,unused-ignore]
from ministack.services.cloudformation import provisioners  # type: ignore[import-not-found,unused-ignore]

from local.emulator.host import Created, Properties

TYPE = "AWS::S3::Bucket"


def keep_tags() -> None:
    provisioners._STACK_TAG_PROPERTY[TYPE] = ("Tags", "list")
    handlers = provisioners._RESOURCE_HANDLERS[TYPE]
    create: Callable[..., Created] = handlers["create"]
    update: Callable[..., Created] = handlers["update"]

    def created(logical_id: str, properties: Properties, stack: str) -> Created:
        result = create(logical_id, properties, stack)
        _keep(result[0], properties)
        return result

    def updated(physical_id: str, old: Properties, new: Properties, *more: Any, **named: Any) -> Created:
        result = update(physical_id, old, new, *more, **named)
        _keep(result[0], new)
        return result

    handlers.update(create=created, update=updated)


def _keep(bucket: str, properties: Properties) -> None:
    s3._bucket_tags[bucket] = {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
