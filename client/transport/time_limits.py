"""The time of one request on its connection: little of it to connect, what is left of it to send, to wait and to read.

urllib3 keeps the time for connecting on the socket while the body is sent, so that an upload longer than that would
break, and gives each part of an answer all of the time anew; these connections set what is left before each step.
botocore's are made from the same parts.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import urllib3
from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, ReadTimeoutError

CONNECT_SECONDS = 5.0
_end: ContextVar[float] = ContextVar("end")  # of the request that this thread makes, on time.monotonic's clock


class NotSent(ReadTimeoutError):
    """The time ended before the request was sent whole; `what` says where. To botocore it is an end of the time."""

    def __init__(self, connection: Any, what: str) -> None:
        super().__init__(connection, "", what)
        self.what = what


@contextmanager
def ends_in(seconds: float) -> Iterator[None]:
    """What is asked inside, by this thread, has so much time."""
    token = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


def spelled(seconds: float) -> str:
    """For people: never 0.0 for a little."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2g} s"


def limit_uploads(manager: urllib3.PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}


def limit_uploads_of_botocore(client: Any) -> None:
    """client: of boto3. Raises AttributeError where botocore is built otherwise; it has no public way to this."""
    client._endpoint.http_session._pool_classes_by_scheme.update({"http": _AWSHTTPPool, "https": _AWSHTTPSPool})


class _Reading(io.RawIOBase):
    """What a socket receives. Inside `ends_in` each part is waited for no longer than that; outside, as the socket."""

    def __init__(self, received: Any, sock: socket.socket) -> None:
        self._received, self._sock = received, sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if _end.get(None) is not None:
            self._sock.settimeout(_left())
        read: int | None = self._received.readinto(buffer)
        return read

    def close(self) -> None:
        if not self.closed:
            self._received.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *given: Any, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        self.fp = io.BufferedReader(_Reading(self.fp.detach(), sock))


class _Limited:
    """Before an HTTPConnection of urllib3. `timeout` is the time for connecting until `getresponse`."""

    response_class: Any = _Response

    def connect(self) -> None:
        connection: Any = self
        try:
            connection.timeout = min(connection.timeout, _left())
            super().connect()  # type: ignore[misc]
        except (TimeoutError, ConnectTimeoutError) as error:  # the first: in TLS's greeting
            if _end.get() <= time.monotonic():
                raise NotSent(connection, "no connection was made") from error
            raise ConnectTimeoutError(connection, "the connection was not made in time") from error

    def send(self, data: Any) -> None:
        connection: Any = self
        if connection.sock is None:
            connection.connect()
        try:
            connection.sock.settimeout(_left())
            super().send(data)  # type: ignore[misc]
        except TimeoutError as error:
            raise NotSent(connection, "the request was not sent whole") from error

    def getresponse(self) -> Any:
        connection: Any = self
        sock, patience = connection.sock, connection.timeout
        connection.timeout = _left()
        response = super().getresponse()  # type: ignore[misc]
        if sock.fileno() != -1:  # each part of what has begun has all of the time, or a late answer would be cut
            sock.settimeout(patience)
        return response


def _left() -> float:
    left = _end.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _HTTP(_Limited, HTTPConnection): ...


class _HTTPS(_Limited, HTTPSConnection): ...


class _AWSHTTP(_Limited, AWSHTTPConnection):  # type: ignore[misc]  # as botocore has it
    ...


class _AWSHTTPS(_Limited, AWSHTTPSConnection):  # type: ignore[misc]  # as botocore has it
    ...


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTP


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPS


class _AWSHTTPPool(AWSHTTPConnectionPool):
    ConnectionCls = _AWSHTTP


class _AWSHTTPSPool(AWSHTTPSConnectionPool):
    ConnectionCls = _AWSHTTPS
