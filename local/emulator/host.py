"""What the plug-ins need of ministack, in their own words. Only this module and its sisters `host_*`
know its insides.

ministack has no plug-in interface, so this reaches into version 1.5.33, which `local/requirements.txt` pins exactly. An
assumption that no longer holds ends the start, by name: see `require_known_ministack`.
"""
# ministack ships no type information and is absent where mypy runs, hence the ignores on its imports.

from __future__ import annotations

import contextvars
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ministack.app as gateway  # type: ignore[import-not-found,unused-ignore]
from ministack.core import concurrency, iam_actions, responses, router  # type: ignore[import-not-found,unused-ignore]
from ministack.services import budgets, cloudwatch, codebuild, ecr, s3, sts  # type: ignore[import-not-found,unused-ignore]
from ministack.services.cloudformation import (  # type: ignore[import-not-found,unused-ignore]
    provisioners,
    stacks,
)

from local.emulator.aws_errors import AwsError, Response, Streamed
from local.emulator.host_streams import streaming
from local.emulator.scope import Scope

Properties = dict[str, Any]
Created = tuple[str, dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """A CloudFormation type.

    create: (logical id, properties, stack name) → physical id, attributes.
    update: (physical id, old properties, new properties, stack name) → the same, in place; None: nothing updates in
    place. replacing: the properties whose change makes a new resource. name_property: the one that holds a custom
    name.
    """

    create: Callable[[str, Properties, str], Created]
    update: Callable[[str, Properties, Properties, str], Created] | None
    delete: Callable[[str, Properties], None]
    replacing: tuple[str, ...]
    name_property: str | None = None
    taggable: bool = False


def current_scope() -> Scope:
    """The account and region of the request or stack operation that runs in this thread."""
    return Scope(account=responses.get_account_id(), region=responses.get_region())


def generated_name(stack: str, logical_id: str, *, length: int = 63) -> str:
    """CloudFormation's own kind of name; it changes when the resource is replaced."""
    return str(provisioners._physical_name(stack, logical_id, max_len=length))


def register_service(
    name: str, patterns: Mapping[str, Any], answer: Callable[[HttpRequest], Response | Streamed]
) -> None:
    """Routes a service's requests to `answer`, which may block and may call the emulator: each runs on its own
    thread.
    """

    def dispatch(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response | Streamed:
        try:
            return answer(HttpRequest(method=method, path=path, headers=headers, body=body))
        except AwsError as error:
            return error.response()

    async def handle(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
    ) -> tuple[int, dict[str, str], Any]:
        call: Awaitable[Response | Streamed] = concurrency.run_reentrant(
            dispatch, method, path, headers, body or b"", thread_name=f"emulator-{name}"
        )
        match answered := await call:
            case Streamed():
                return answered.status, answered.headers, streaming(answered.parts)
            case _:
                return answered

    gateway.SERVICE_HANDLERS[name] = handle
    _OWN_SERVICES.add(name)
    # The router takes the first match, and its own patterns are wide: ours go first.
    known = dict(router.SERVICE_PATTERNS)
    router.SERVICE_PATTERNS.clear()
    router.SERVICE_PATTERNS.update({name: dict(patterns)} | known)


def register_resource_type(name: str, resource: ResourceType) -> None:
    """Adds a CloudFormation type. Its handlers may block: each runs on its own thread."""
    handlers: dict[str, Any] = {"create": resource.create, "delete": resource.delete}
    if resource.update is not None:
        handlers["update"] = resource.update
    provisioners._RESOURCE_HANDLERS[name] = handlers
    provisioners._REPLACING_PROPERTIES[name] = resource.replacing
    if resource.name_property:
        provisioners._CUSTOM_NAME_REPLACEMENT[name] = {"name": resource.name_property}
    if resource.taggable:
        provisioners._STACK_TAG_PROPERTY[name] = ("Tags", "list")
    _BLOCKING_TYPES.add(name)


_BLOCKING_TYPES: set[str] = set()
_OWN_SERVICES: set[str] = set()


def install_content_types() -> None:
    """Leaves the media types of our services alone: ministack would put its own in place of a container's."""
    own: Callable[[str, int, dict[str, str]], None] = gateway.fix_success_content_type

    def fix(service: str, status: int, headers: dict[str, str]) -> None:
        if service not in _OWN_SERVICES:
            own(service, status, headers)

    gateway.fix_success_content_type = fix


def install_blocking_types() -> None:
    """Lets the stack engine run our types on worker threads, as it does for custom resources."""
    own: Callable[[str], bool] = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda resource_type: resource_type in _BLOCKING_TYPES or own(resource_type)


def in_scope(scope: Scope, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls into ministack from a thread of ours: its stores look the account and region up in the context."""

    def call() -> Any:
        responses.set_request_account_id(scope.account)
        responses.set_request_region(scope.region)
        return function(*arguments)

    return contextvars.copy_context().run(call)


def image_digest(scope: Scope, repository: str, *, tag: str | None = None, digest: str | None = None) -> str | None:
    """The digest of an image in the emulated ECR; None where there is none."""
    wanted = {"imageTag": tag} if tag else {"imageDigest": digest}
    found = in_scope(scope, ecr._find_image, repository, wanted)
    return str(found["imageDigest"]) if found else None


def require_known_ministack() -> None:
    """Ends the process with one line when the installed ministack lacks what this module reaches into."""
    _require(
        (provisioners, ("_RESOURCE_HANDLERS", "_REPLACING_PROPERTIES", "_CUSTOM_NAME_REPLACEMENT", "_physical_name")),
        (stacks, ("_runs_on_worker_thread",)),
        (
            codebuild,
            ("_log_sink", "_projects", "_builds", "_make_build_record", "_start_build", "_stop_build", "reset"),
        ),
        (ecr, ("_find_image",)),
        (responses, ("StreamingResponse",)),
        (s3, ("_bucket_tags",)),
        (provisioners, ("_STACK_TAG_PROPERTY",)),
        (sts, ("register_session",)),
        (iam_actions, ("extract_resource_arn",)),
        (provisioners, ("_cw_metric_alarm_record",)),
        (cloudwatch, ("_alarms", "_composite_alarms")),
        (
            budgets,
            ("_budgets", "_tags", "_budget_arn", "_create_budget", "_update_budget", "_delete_budget"),
        ),
        (router, ("SERVICE_PATTERNS",)),
        (gateway, ("SERVICE_HANDLERS", "fix_success_content_type", "main", "pin_request_origin")),
    )


def serve() -> None:
    """Answers requests until the process ends."""
    sys.argv[1:] = []  # ministack would read our arguments as its own
    gateway.main()


def _require(*needed: tuple[Any, Sequence[str]]) -> None:
    missing = [f"{module.__name__}.{name}" for module, names in needed for name in names if not hasattr(module, name)]
    if missing:
        raise SystemExit(f"ministack has no {', '.join(missing)}: install the pinned version of local/requirements.txt")
