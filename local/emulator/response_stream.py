"""InvokeEndpointWithResponseStream: passes a container's answer on while it comes, as SageMaker's runtime does."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing

from local.emulator import runtime_front
from local.emulator.aws_errors import Streamed
from local.emulator.endpoints import Fleet
from local.emulator.event_stream import CONTENT_TYPE, model_stream_error, payload_part
from local.emulator.records import EndpointRecord
from local.emulator.scope import Scope

INVOCATION_PATH = re.compile(r"/endpoints/(?P<name>[^/]+)/invocations-response-stream")
STREAM_SECONDS = 480.0  # SageMaker's own limit for a whole stream
_PIECE = 1 << 16


def invoke(
    scope: Scope,
    name: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    find: Callable[[str], tuple[EndpointRecord | None, Fleet]],
    timeout: float = runtime_front.TIMEOUT_SECONDS,
    seconds: float = STREAM_SECONDS,
) -> Streamed:
    """headers: lower-case names. Raises AwsError as InvokeEndpoint does, as long as the answer has not begun.

    timeout: for the answer's beginning, and for each pause in it. seconds: for all of it.
    """
    variant, container = runtime_front.target(scope, name, headers, body, find=find)
    connection, response = runtime_front.asked(scope, container, headers, body, timeout)
    lowered = {key.lower(): value for key, value in response.getheaders()}
    if not 200 <= response.status < 300:
        with connection:
            message = response.read().decode("utf-8", "replace")
        raise runtime_front.model_error(scope, container, response.status, message)
    out = {
        "Content-Type": CONTENT_TYPE,
        "X-Amzn-SageMaker-Content-Type": lowered.get("content-type", "application/octet-stream"),
        "x-Amzn-Invoked-Production-Variant": variant,
    }
    if runtime_front.CUSTOM in lowered:
        out["X-Amzn-SageMaker-Custom-Attributes"] = lowered[runtime_front.CUSTOM]
    return Streamed(status=200, headers=out, parts=_parts(connection, response, seconds))


def _parts(
    connection: runtime_front.Connection, response: http.client.HTTPResponse, seconds: float
) -> Generator[bytes, None, None]:
    """Closing it closes the connection, by which the container learns that nobody listens."""
    until = time.monotonic() + seconds
    with connection, closing(response):  # the response holds the socket as well
        try:
            while piece := response.read1(_PIECE):
                yield payload_part(piece)
                if time.monotonic() > until:
                    said = f"The stream was not at its end after {seconds:g} seconds."
                    yield model_stream_error("MODEL_INVOCATION_TIMEOUT_EXCEEDED", said)
                    return
        except TimeoutError:
            yield model_stream_error("MODEL_INVOCATION_TIMEOUT_EXCEEDED", "The container stopped in its answer.")
        except (OSError, http.client.HTTPException) as error:
            yield model_stream_error("STREAM_BROKEN", f"The container's answer broke off: {error}")
