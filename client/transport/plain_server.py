"""A plain scoring server as an upstream: `--url`. Bodies and the headers that matter pass as they are."""

from __future__ import annotations

from collections.abc import Iterator

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError

from client.transport.exchange import Answer, Request, Streamed, Whole
from client.transport.failures import Failure, StreamCut
from client.transport.one_route import CUSTOM, attributes_with_route
from client.transport.time_limits import CONNECT_SECONDS, NotSent, ends_in, limit_uploads, spelled

_ASKED = ("content-type", "accept", "content-encoding", "authorization", CUSTOM)
_TOLD = ("Content-Type", "X-Request-Id", "Retry-After", "X-Should-Retry", "WWW-Authenticate")


class PlainServer:
    """api_key: of the server's own (DECISION_API_KEY), for requests that bring none."""

    def __init__(
        self, url: str, *, connections: int, api_key: str | None = None, connect_seconds: float = CONNECT_SECONDS
    ) -> None:
        self._url, self._connect_seconds = url.rstrip("/"), connect_seconds
        self._pool = urllib3.PoolManager(maxsize=connections, retries=False)
        limit_uploads(self._pool)
        self._own = {} if api_key is None else {"authorization": f"Bearer {api_key}"}

    @property
    def name(self) -> str:
        return self._url

    def send(self, request: Request, *, timeout: float) -> Answer:
        attributes_with_route(request)  # the server would take the path's and leave the other unsaid
        try:
            with ends_in(timeout):
                response = self._pool.request(
                    request.method,
                    self._url + request.route,
                    body=request.body or None,
                    headers=self._own | {name: request.headers[name] for name in _ASKED if name in request.headers},
                    timeout=urllib3.Timeout(connect=min(self._connect_seconds, timeout), read=timeout),
                    preload_content=False,
                    redirect=False,
                )
                told = {name: response.headers[name] for name in _TOLD if name in response.headers}
                if response.status == 200 and "Content-Length" not in response.headers:
                    return Streamed(parts=_parts(response), headers=told)
                return Whole(status=response.status, body=response.read(), headers=told)
        except NotSent as error:
            raise Failure(
                "deadline_exceeded",
                f"{self._url}: {error.what} within {spelled(timeout)}; its body has {len(request.body)} bytes",
            ) from error
        except ReadTimeoutError as error:
            raise Failure("deadline_exceeded", f"{self._url}: no answer within {spelled(timeout)}") from error
        except (NewConnectionError, ConnectTimeoutError) as error:
            why = str(error.args[-1]).rpartition("): ")[2]
            raise Failure(
                "not_connected", f"{self._url}: no server there: {why}. Remedy: look at the URL, or start one"
            ) from error
        except HTTPError as error:
            raise Failure("unreachable", f"{self._url}: the connection broke: {error}") from error

    def close(self) -> None:
        self._pool.clear()


def _parts(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    try:
        yield from response.stream(None, decode_content=False)
    except HTTPError as error:
        raise StreamCut(f"the server's answer broke off: {error}") from error
    finally:
        response.release_conn()
