"""InvokeEndpoint: passes a request to the endpoint's container and translates what comes back, as SageMaker's runtime
does.
"""

from __future__ import annotations

import http.client
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

from local.emulator.aws_errors import AwsError, Response
from local.emulator.containers import Container
from local.emulator.endpoints import Fleet
from local.emulator.records import EndpointRecord
from local.emulator.scope import Scope

INVOCATION_PATH = re.compile(r"/endpoints/(?P<name>[^/]+)/invocations")
TIMEOUT_SECONDS = 60.0  # SageMaker's own limit for a real-time invocation
MAX_BODY_BYTES = 26_214_400  # InvokeEndpoint's own limit
CUSTOM = "x-amzn-sagemaker-custom-attributes"
# Of a caller's headers only these reach a container.
FORWARDED = ("content-type", "accept", CUSTOM, "x-amzn-sagemaker-inference-id", "x-amzn-sagemaker-session-id")


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def invoke(
    scope: Scope,
    name: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    find: Callable[[str], tuple[EndpointRecord | None, Fleet]],
    timeout: float = TIMEOUT_SECONDS,
) -> Response:
    """headers: lower-case names. Raises AwsError: ValidationError, ModelError, ServiceUnavailable."""
    variant, container = target(scope, name, headers, body, find=find)
    answer = _ask(scope, container, headers, body, timeout)
    if not 200 <= answer.status < 300:
        raise model_error(scope, container, answer.status, answer.body.decode("utf-8", "replace"))
    out = {
        "Content-Type": answer.headers.get("content-type", "application/octet-stream"),
        "x-Amzn-Invoked-Production-Variant": variant,
    }
    if CUSTOM in answer.headers:
        out["X-Amzn-SageMaker-Custom-Attributes"] = answer.headers[CUSTOM]
    return 200, out, answer.body


def target(
    scope: Scope,
    name: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    find: Callable[[str], tuple[EndpointRecord | None, Fleet]],
) -> tuple[str, Container]:
    """The variant that answers, and its container. Raises AwsError: ValidationError."""
    record, fleet = find(name)
    if record is None:
        raise AwsError("ValidationError", f"Endpoint {name} of account {scope.account} not found.")
    if not fleet:
        raise AwsError(
            "ValidationError",
            f"Endpoint {name} of account {scope.account} cannot answer: its status is {record.status}, not InService.",
        )
    if len(body) > MAX_BODY_BYTES:
        raise AwsError(
            "ValidationError", f"Request body of {len(body)} bytes exceeds the limit of {MAX_BODY_BYTES}.", 413
        )
    variant = _variant(record, fleet, headers.get("x-amzn-sagemaker-target-variant"))
    return variant, fleet[variant]


def _variant(record: EndpointRecord, fleet: Fleet, wanted: str | None) -> str:
    """The variant the caller names, else one drawn by weight."""
    if wanted is not None:
        if wanted not in fleet:
            raise AwsError("ValidationError", f"Variant {wanted} not found for endpoint {record.name}.")
        return wanted
    weights = {plan.name: plan.weight for plan in record.plans if plan.name in fleet} or dict.fromkeys(fleet, 1.0)
    names = list(weights)
    if len(names) == 1:
        return names[0]
    return random.choices(names, weights=list(weights.values()))[0]


def _ask(scope: Scope, container: Container, headers: Mapping[str, str], body: bytes, timeout: float) -> Answer:
    connection, response = asked(scope, container, headers, body, timeout)
    with connection, container_errors(scope, container):
        lowered = {name.lower(): value for name, value in response.getheaders()}
        return Answer(status=response.status, headers=lowered, body=response.read())


Connection = closing[http.client.HTTPConnection]


def asked(
    scope: Scope, container: Container, headers: Mapping[str, str], body: bytes, timeout: float
) -> tuple[Connection, http.client.HTTPResponse]:
    """A container's answer, its headers read. Whoever gets the connection closes it. Raises AwsError."""
    forwarded = {name: headers[name] for name in FORWARDED if name in headers}
    connection = http.client.HTTPConnection("127.0.0.1", container.port, timeout=timeout)
    try:
        with container_errors(scope, container):
            connection.request("POST", "/invocations", body=body, headers=forwarded)
            return closing(connection), connection.getresponse()
    except BaseException:
        connection.close()
        raise


@contextmanager
def container_errors(scope: Scope, container: Container) -> Iterator[None]:
    """What goes wrong on the way to a container and back, as the caller is told it."""
    try:
        yield
    except TimeoutError as error:
        message = (
            "Your invocation timed out while waiting for a response from container primary. "
            "Review the latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again."
        )
        raise model_error(scope, container, 0, message) from error
    except ConnectionRefusedError as error:
        raise AwsError(
            "ServiceUnavailable", "The endpoint's container is not running; it is being restarted.", 503
        ) from error
    except (OSError, http.client.HTTPException) as error:
        message = f"Failed to get a response from container primary: {error}"
        raise model_error(scope, container, 0, message) from error


def model_error(scope: Scope, container: Container, status: int, message: str) -> AwsError:
    side = "client" if 400 <= status < 500 else "server"
    console = (
        f"https://{scope.region}.console.aws.amazon.com/cloudwatch/home?region={scope.region}"
        f"#logEventViewer:group={container.log_group}"
    )
    return AwsError(
        "ModelError",
        f'Received {side} error ({status}) from primary with message "{message}". '
        f"See {console} in account {scope.account} for more information.",
        424,
        OriginalStatusCode=status,
        OriginalMessage=message,
        LogStreamArn=scope.log_stream_arn(container.log_group, container.log_stream),
    )
