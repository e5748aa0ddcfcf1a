"""Generated names of repositories: ministack derives them from the stack, so that one that was kept would be taken over
by the next deployment; CloudFormation's are new each time.

With the other `host` modules the only ones that know ministack's insides.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from ministack.services.cloudformation import provisioners  # type: ignore[import-not-found,unused-ignore]

from local.emulator.host import Created, Properties

TYPE = "AWS::ECR::Repository"


def name_anew() -> None:
    handlers = provisioners._RESOURCE_HANDLERS[TYPE]
    create: Callable[..., Created] = handlers["create"]
    update: Callable[..., Created] = handlers["update"]

    def created(logical_id: str, properties: Properties, stack: str) -> Created:
        generated = f"{stack}-{logical_id}".lower()[:200] + f"-{secrets.token_hex(6)}"
        return create(logical_id, {"RepositoryName": generated, **properties}, stack)

    def updated(physical_id: str, old: Properties, new: Properties, *more: Any, **named: Any) -> Created:
        kept = {"RepositoryName": physical_id}
        return update(physical_id, {**kept, **old}, {**kept, **new}, *more, **named)

    handlers.update(create=created, update=updated)
