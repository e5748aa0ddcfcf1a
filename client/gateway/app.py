"""The gateway as a WSGI application: HTTP in, an upstream's answer out. Every error leaves as JSON."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from client.gateway.failure_bodies import as_answer, as_event
from client.gateway.in_flight import InFlight
from client.transport.exchange import EVENT_STREAM, JSON, Answer, Request, Streamed, Upstream, Whole
from client.transport.failures import Failure, StreamCut
from client.transport.retrying import Clock, answered

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ROUTES: dict[str, tuple[str, ...]] = {
    "/ping": ("GET",),
    "/invocations": ("POST",),
    "/v1/systemone": ("POST",),
    "/v1/decisions": ("POST",),
    "/v1/chat/completions": ("POST",),
    "/v1/models": ("GET",),
    "/openapi.json": ("GET",),
}
_OWN_PATIENCE = "x-stainless-read-timeout"  # seconds, said by clients of the `openai` family
Say = Callable[[str], None]
_log = logging.getLogger(__name__)


class Gateway:
    def __init__(
        self,
        upstream: Upstream,
        *,
        deadline_seconds: float,
        in_flight: InFlight,
        say: Say,
        any_host: bool,
        clock: Clock | None = None,
    ) -> None:
        self._upstream, self._deadline_seconds, self._in_flight, self._say = upstream, deadline_seconds, in_flight, say
        self._any_host, self._clock = any_host, clock or Clock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.monotonic()
        request = _request(environ)
        if not self._in_flight.enter():
            return _sent(as_answer(Failure("draining", "the gateway is stopping"), request), start_response)
        try:
            answer, tries = self._answer(request, _gone(environ))
            status = answer.status if isinstance(answer, Whole) else 200
            if request.route != "/ping":
                seconds = time.monotonic() - started
                asked = "1 try" if tries == 1 else f"{tries} tries"
                self._say(f"{request.method} {request.route[:60]!r} {status} after {seconds:.3f} s, {asked}")
            return _Body(_sent(answer, start_response), self._in_flight.leave)
        except BaseException:
            self._in_flight.leave()
            raise

    def _answer(self, request: Request, gone: Callable[[], bool]) -> tuple[Answer, int]:
        try:
            _check(request, any_host=self._any_host)
            if request.route == "/ping":  # of the gateway alone: asking AWS for each look would cost and throttle
                return Whole(status=200, body=b'{"status":"ok"}', headers={"Content-Type": JSON}), 0
            deadline = self._clock.now() + self._patience(request)
            return answered(self._upstream, request, deadline=deadline, clock=self._clock, gone=gone)
        except Failure as failure:
            if failure.status >= 500 or failure.code in ("aws_credentials", "access_denied", "endpoint_not_found"):
                self._say(failure.message)
            return as_answer(failure, request), failure.asked
        except Exception:  # noqa: BLE001 - the border: any fault is logged with its trace, and the client gets JSON
            _log.exception("a request failed")
            internal = Failure("internal", "the gateway failed on this request; its standard error says how")
            return as_answer(internal, request), 0

    def _patience(self, request: Request) -> float:
        try:
            own = float(request.headers.get(_OWN_PATIENCE, "inf"))
        except ValueError:
            own = float("inf")
        return min(self._deadline_seconds, own) if own > 0 else self._deadline_seconds


class _Body:
    """The parts of an answer; whatever happens to them, the request is over once."""

    def __init__(self, parts: Iterable[bytes], left: Callable[[], None]) -> None:
        self._parts, self._left = parts, left

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    def close(self) -> None:
        try:
            if close := getattr(self._parts, "close", None):
                close()
        finally:
            self._left()


def _request(environ: WSGIEnvironment) -> Request:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    return Request(
        method=environ["REQUEST_METHOD"],
        route=environ["PATH_INFO"],
        body=environ["wsgi.input"].read(length) if length else b"",
        headers=_headers(environ),
    )


def _headers(environ: WSGIEnvironment) -> Mapping[str, str]:
    headers = {name[5:].replace("_", "-").lower(): str(value) for name, value in environ.items() if name[:5] == "HTTP_"}
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    return headers


def _check(request: Request, *, any_host: bool) -> None:
    """A web page must not spend the credentials of who looks at it: it sends an Origin, or a name of its own for us,
    and where it only embeds an address, the browser says from which site.
    """
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    from_page = "origin" in request.headers or request.headers.get("sec-fetch-site", "none") != "none"
    if from_page or not (any_host or host in ("127.0.0.1", "::1", "localhost")):
        raise Failure(
            "not_for_browsers", "a request with an Origin, or to another Host than loopback; none is passed on"
        )
    if request.route not in ROUTES:
        raise Failure("not_found", f"no route {request.route[:200]!r}; there are {', '.join(ROUTES)}")
    if request.method not in ROUTES[request.route]:
        allowed = ", ".join(ROUTES[request.route])
        raise Failure("method_not_allowed", f"{request.method} {request.route}: not allowed; use {allowed}")


def _gone(environ: WSGIEnvironment) -> Callable[[], bool]:
    asked: Callable[[], bool] = environ.get("waitress.client_disconnected", lambda: False)
    return asked


def _sent(answer: Answer, start_response: StartResponse) -> Iterable[bytes]:
    if isinstance(answer, Streamed):
        start_response("200 OK", list(answer.headers.items()))
        return _parts(answer)
    known = answer.status in HTTPStatus._value2member_map_
    phrase = HTTPStatus(answer.status).phrase if known else "Unknown"
    headers = {**answer.headers, "Content-Length": str(len(answer.body))}
    start_response(f"{answer.status} {phrase}", list(headers.items()))
    return [answer.body]


def _parts(answer: Streamed) -> Iterator[bytes]:
    """A cut stream of events says so in an event; of any other the client sees that its end is missing."""
    try:
        yield from answer.parts
    except StreamCut as failure:
        if not answer.headers.get("Content-Type", "").startswith(EVENT_STREAM):
            raise
        yield as_event(failure)
