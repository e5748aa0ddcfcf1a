"""InvokeEndpoint and InvokeEndpointWithResponseStream as an upstream: signed by the official SDK, and what SageMaker
wraps around a container's words taken off again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    EventStreamError,
    NoCredentialsError,
    PartialCredentialsError,
    ReadTimeoutError,
    ResponseStreamingError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
from urllib3.exceptions import HTTPError
from urllib3.exceptions import ReadTimeoutError as BodyTimeoutError

from client.aws import code_of
from client.errors import Refused
from client.transport.exchange import JSON, Answer, Request, Streamed, Whole
from client.transport.failures import Failure, StreamCut
from client.transport.one_route import attributes_with_route
from client.transport.time_limits import CONNECT_SECONDS, NotSent, ends_in, limit_uploads_of_botocore, spelled

MAX_BODY_BYTES = 25 * 1024 * 1024
LEAST_BOTOCORE = (1, 44)
_KNOWN_BOTO3 = "1.44.8"
LIMITS = "InvokeEndpoint takes and gives 25 MB (older endpoints 6 MB); ask less at once, or use `python -m client bulk`"
_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, TokenRetrievalError, UnauthorizedSSOTokenError)
_NOT_VALID = frozenset({"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException"})
_NOT_VALID |= {"ExpiredToken", "ExpiredTokenException", "SignatureDoesNotMatch", "IncompleteSignature"}
_DENIED = frozenset({"AccessDenied", "AccessDeniedException"})
_THROTTLED = frozenset({"Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"})
_PASSING = frozenset({"ServiceUnavailable", "ModelNotReadyException", "InternalFailure", "InternalDependencyException"})


class SageMakerEndpoint:
    def __init__(
        self,
        session: boto3.Session,
        endpoint: str,
        *,
        connections: int,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        _check_sdk(botocore.__version__)
        self._endpoint, self._region = endpoint, session.region_name
        self._timeout = threading.local()
        config = Config(
            connect_timeout=connect_seconds,
            retries={"total_max_attempts": 1},  # `retrying` decides
            max_pool_connections=connections,
        )
        self._client = session.client("sagemaker-runtime", config=config)
        self._client.meta.events.register("before-call.sagemaker-runtime", self._limit)
        _limit_uploads(self._client)

    @property
    def name(self) -> str:
        return f"endpoint {self._endpoint} in {self._region}"

    @property
    def region(self) -> str | None:
        """As it was found where none was given."""
        found: str | None = self._region
        return found

    def send(self, request: Request, *, timeout: float) -> Answer:
        """Its body plain: InvokeEndpoint passes on no Content-Encoding."""
        if len(request.body) > MAX_BODY_BYTES:
            raise Failure("body_too_large", f"the body has more than {MAX_BODY_BYTES} bytes; {LIMITS}")
        arguments, client = self._arguments(request), self._client
        self._timeout.seconds = timeout
        try:
            with ends_in(timeout):
                if request.wants_stream:
                    begun = client.invoke_endpoint_with_response_stream(**arguments)
                    return Streamed(parts=_parts(begun["Body"]), headers={"Content-Type": begun["ContentType"]})
                told = client.invoke_endpoint(**arguments)
                return Whole(status=200, body=told["Body"].read(), headers={"Content-Type": told["ContentType"]})
        except ClientError as error:
            return self._unwrapped(error)
        except (BotoCoreError, HTTPError) as error:
            raise self._no_answer(error, len(request.body), timeout) from error

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments = {
            "EndpointName": self._endpoint,
            "Body": request.body or b"{}",  # InvokeEndpoint wants one, of a GET too
            "ContentType": request.headers.get("content-type", JSON),
            "CustomAttributes": attributes_with_route(request),
            "Accept": request.headers.get("accept", ""),
        }
        return {name: value for name, value in arguments.items() if value}

    def _limit(self, context: dict[str, Any], **_: Any) -> None:
        """botocore reads the timeout of one request here; a client has one for all of its requests."""
        context["read_timeout"] = self._timeout.seconds

    def close(self) -> None:
        self._client.close()

    def _unwrapped(self, error: ClientError) -> Whole:
        """The container's own answer out of a ModelError. Raises Failure for what SageMaker says itself."""
        code, message = code_of(error), str(error.response.get("Error", {}).get("Message", ""))
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code == "ModelError":
            told: dict[str, Any] = dict(error.response)
            original = int(told.get("OriginalStatusCode") or 0)
            if 400 <= original <= 599:
                body = str(told.get("OriginalMessage", "")).encode()
                return Whole(status=original, body=body, headers={"Content-Type": JSON})
            raise Failure("model_timeout", f"{self.name}: its container gave no answer: {message}")
        if code in _NOT_VALID:
            raise Failure("aws_credentials", f"AWS does not accept these credentials: {code}: {message}")
        if code in _DENIED:
            remedy = "Remedy: allow these credentials sagemaker:InvokeEndpoint on it"
            raise Failure("access_denied", f"{self.name}: {message}. {remedy}")
        if code in _THROTTLED:
            raise Failure("throttled", f"{self.name}: SageMaker throttles: {message}")
        if code in _PASSING or status >= 500:
            raise Failure("unavailable", f"{self.name}: {code}: {message}")
        if status == 413 or "exceed" in message.lower():
            raise Failure("body_too_large", f"{self.name}: {message} {LIMITS}")
        if code.startswith("Validation") and "not found" in message:
            raise Failure("endpoint_not_found", f"{message} Looked for in {self._region}")
        raise Failure("refused_by_sagemaker", f"{self.name}: {code}: {message}")

    def _no_answer(self, error: Exception, body_bytes: int, timeout: float) -> Failure:
        if isinstance(error, _CREDENTIALS):
            return Failure("aws_credentials", f"there are no AWS credentials that work: {error}")
        if isinstance(error, ReadTimeoutError) and isinstance(unsent := error.kwargs.get("error"), NotSent):
            why = f"{unsent.what} within {spelled(timeout)}; its body has {body_bytes} bytes"
            return Failure("deadline_exceeded", f"{self.name}: {why}")
        if isinstance(error, (ReadTimeoutError, BodyTimeoutError)):
            return Failure("deadline_exceeded", f"{self.name}: no answer within {spelled(timeout)}")
        if isinstance(error, (EndpointConnectionError, ConnectTimeoutError)):
            return Failure("not_connected", f"{self.name}: {error}. Remedy: look at the region and the network")
        return Failure("unreachable", f"{self.name}: the connection broke: {error}")


def _check_sdk(version: str) -> None:
    """An older one would let each request wait for a minute, whatever the deadline. Raises Refused."""
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_BOTOCORE:
        least = ".".join(map(str, LEAST_BOTOCORE))
        raise Refused(f"botocore {version} cannot limit a single request. Remedy: pip install 'boto3>={least}'")


def _limit_uploads(client: Any) -> None:
    """Raises Refused."""
    try:
        limit_uploads_of_botocore(client)
    except AttributeError as error:
        raise Refused(
            f"botocore {botocore.__version__} is built otherwise than this client knows ({error}): a slow upload would "
            f"break. Remedy: pip install 'boto3<={_KNOWN_BOTO3}'"
        ) from error


def _parts(stream: Any) -> Iterator[bytes]:
    try:
        for event in stream:
            if "PayloadPart" in event:
                yield event["PayloadPart"]["Bytes"]
    except EventStreamError as error:
        raise StreamCut(f"SageMaker cut the answer: {error}") from error
    except (ReadTimeoutError, ResponseStreamingError, HTTPError) as error:
        raise StreamCut(f"the connection to SageMaker broke: {error}") from error
    finally:
        stream.close()
