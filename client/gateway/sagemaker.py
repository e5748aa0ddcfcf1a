"""InvokeEndpoint and InvokeEndpointWithResponseStream as an upstream: signed by the official SDK, and what SageMaker
wraps around a container's words taken off again.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
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

from client.aws import code_of
from client.gateway.content_encoding import decoded
from client.gateway.exchange import JSON, Answer, Request, Streamed, Whole
from client.gateway.failures import Failure, StreamCut

MAX_BODY_BYTES = 25 * 1024 * 1024
CUSTOM = "x-amzn-sagemaker-custom-attributes"
_LIMITS = (
    "InvokeEndpoint takes and gives 25 MB (older endpoints 6 MB); ask less at once, or use `python -m client bulk`"
)
_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, TokenRetrievalError, UnauthorizedSSOTokenError)
_NOT_VALID = frozenset({"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException"})
_NOT_VALID |= {"ExpiredToken", "ExpiredTokenException", "SignatureDoesNotMatch", "IncompleteSignature"}
_DENIED = frozenset({"AccessDenied", "AccessDeniedException"})
_THROTTLED = frozenset({"Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"})
_PASSING = frozenset({"ServiceUnavailable", "ModelNotReadyException", "InternalFailure", "InternalDependencyException"})


class SageMakerEndpoint:
    def __init__(self, session: boto3.Session, endpoint: str, *, connections: int) -> None:
        self._session, self._endpoint, self._connections = session, endpoint, connections
        self._clients: dict[int, Any] = {}  # by seconds to wait for an answer, which botocore sets for a client
        self._lock = threading.Lock()  # a session makes one client at a time

    @property
    def name(self) -> str:
        return f"endpoint {self._endpoint} in {self._session.region_name}"

    def send(self, request: Request, *, timeout: float) -> Answer:
        request = _decoded(request)
        arguments = self._arguments(request)
        client = self._client(math.ceil(timeout))
        try:
            if request.wants_stream:
                told = client.invoke_endpoint_with_response_stream(**arguments)
                return Streamed(parts=_parts(told["Body"]), headers={"Content-Type": told["ContentType"]})
            told = client.invoke_endpoint(**arguments)
            return Whole(status=200, body=told["Body"].read(), headers={"Content-Type": told["ContentType"]})
        except ClientError as error:
            return self._unwrapped(error)
        except (BotoCoreError, HTTPError) as error:
            raise self._no_answer(error, timeout) from error

    def _arguments(self, request: Request) -> dict[str, Any]:
        attributes = [request.headers[CUSTOM]] if CUSTOM in request.headers else []
        if request.route != "/invocations":
            attributes.append(f"route={request.route}")
        arguments = {
            "EndpointName": self._endpoint,
            "Body": request.body or b"{}",  # InvokeEndpoint wants one, of a GET too
            "ContentType": request.headers.get("content-type", JSON),
            "CustomAttributes": ",".join(attributes),
            "Accept": request.headers.get("accept", ""),
        }
        return {name: value for name, value in arguments.items() if value}

    def _client(self, seconds: int) -> Any:
        with self._lock:
            if seconds not in self._clients:
                config = Config(
                    connect_timeout=min(5, seconds),
                    read_timeout=seconds,
                    retries={"total_max_attempts": 1},  # `retrying` decides
                    max_pool_connections=self._connections,
                )
                self._clients[seconds] = self._session.client("sagemaker-runtime", config=config)
            return self._clients[seconds]

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
            raise Failure("aws_credentials", f"AWS does not accept the gateway's credentials: {code}: {message}")
        if code in _DENIED:
            remedy = "Remedy: allow these credentials sagemaker:InvokeEndpoint on it"
            raise Failure("access_denied", f"{self.name}: {message}. {remedy}")
        if code in _THROTTLED:
            raise Failure("throttled", f"{self.name}: SageMaker throttles: {message}")
        if code in _PASSING or status >= 500:
            raise Failure("unavailable", f"{self.name}: {code}: {message}")
        if status == 413 or "exceed" in message.lower():
            raise Failure("body_too_large", f"{self.name}: {message} {_LIMITS}")
        if code.startswith("Validation") and "not found" in message:
            raise Failure("endpoint_not_found", f"{message} Looked for in {self._session.region_name}")
        raise Failure("refused_by_sagemaker", f"{self.name}: {code}: {message}")

    def _no_answer(self, error: Exception, timeout: float) -> Failure:
        if isinstance(error, _CREDENTIALS):
            return Failure("aws_credentials", f"the gateway has no AWS credentials that work: {error}")
        if isinstance(error, ReadTimeoutError):
            return Failure("deadline_exceeded", f"{self.name}: no answer within {timeout:.1f} s")
        if isinstance(error, (EndpointConnectionError, ConnectTimeoutError)):
            return Failure("unreachable", f"{self.name}: {error}. Remedy: look at the region and the network")
        return Failure("unreachable", f"{self.name}: the connection broke: {error}")


def _decoded(request: Request) -> Request:
    """Raises Failure, also for a body that no endpoint takes."""
    body = decoded(request.body, request.headers.get("content-encoding", ""), max_bytes=MAX_BODY_BYTES)
    if len(body) > MAX_BODY_BYTES:
        raise Failure("body_too_large", f"the body has more than {MAX_BODY_BYTES} bytes; {_LIMITS}")
    return replace(request, body=body)


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
