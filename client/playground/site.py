"""The playground as a WSGI application: one page, and its requests passed on to the target as they are."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from client.playground.guard import HEADERS, Guard
from client.playground.prompts import NotShown, PromptMaker
from client.playground.target import TargetFacts
from client.transport.exchange import JSON, Request, Upstream, Whole
from client.transport.failures import Failure
from client.transport.retrying import Clock, answered

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ROUTES = ("v1/decisions", "v1/systemone")
TOKEN_DIGITS = 10  # of 2³¹, past which llama.cpp has no token
MAX_BODY_BYTES = 25 * 1024 * 1024  # what InvokeEndpoint takes
_PAGE = Path(__file__).parent / "page"
_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "style.css": ("style.css", "text/css; charset=utf-8"),
    "playground.js": ("playground.js", "text/javascript; charset=utf-8"),
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Reply:
    status: int
    body: bytes
    media_type: str = JSON


class Site:
    """maker: None where prompts cannot be shown; `facts` says why."""

    def __init__(
        self,
        guard: Guard,
        upstream: Upstream,
        facts: TargetFacts,
        maker: PromptMaker | None,
        *,
        deadline_seconds: float,
    ) -> None:
        self._guard, self._upstream, self._facts, self._maker = guard, upstream, facts, maker
        self._deadline_seconds, self._clock = deadline_seconds, Clock()
        self._files = {path: ((_PAGE / name).read_bytes(), media) for path, (name, media) in _FILES.items()}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            reply = self._reply(environ)
        except Exception:  # noqa: BLE001 - the border: any fault is logged with its trace, and the page is told
            _log.exception("a request of the page failed")
            reply = _error(500, "internal", "the playground failed on this request; its standard error says how")
        headers = {**HEADERS, "Content-Type": reply.media_type, "Content-Length": str(len(reply.body))}
        start_response(f"{reply.status} {_phrase(reply.status)}", list(headers.items()))
        return [reply.body]

    def _reply(self, environ: WSGIEnvironment) -> _Reply:
        objection = self._guard.objection(_headers(environ))
        if objection is not None:
            return _error(403, "not_for_others", objection)
        path = self._guard.inside(environ["PATH_INFO"])
        if path is None:
            return _error(404, "not_found", "the playground's address has a token in it, and was printed when it began")
        method = environ["REQUEST_METHOD"]
        if method == "GET" and path in self._files:
            body, media_type = self._files[path]
            return _Reply(status=200, body=body, media_type=media_type)
        if method == "GET" and path == "api/target":
            return _Reply(status=200, body=json.dumps(asdict(self._facts)).encode())
        if method == "POST" and path.startswith("api/"):
            return self._asked(path, environ)
        return _error(404, "not_found", f"{method} {path[:100]!r}: the page asks for nothing like it")

    def _asked(self, path: str, environ: WSGIEnvironment) -> _Reply:
        media_type = environ.get("CONTENT_TYPE", "")
        if media_type != JSON:  # no form of another page can send this type without asking first
            return _error(415, "unsupported_media_type", f"Content-Type: {media_type[:100]!r}; {JSON} is needed")
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > MAX_BODY_BYTES:
            return _error(413, "body_too_large", f"the body has {length} bytes; {MAX_BODY_BYTES} at most")
        body = environ["wsgi.input"].read(length)
        route = path.removeprefix("api/ask/")
        if route in ROUTES:
            return self._passed_on(Request(method="POST", route=f"/{route}", body=body, headers={"content-type": JSON}))
        if path == "api/prompts":
            return self._prompts(body, parse_qs(environ.get("QUERY_STRING", "")))
        return _error(404, "not_found", f"{path[:100]!r}: asked are {', '.join(ROUTES)} and prompts")

    def _passed_on(self, request: Request) -> _Reply:
        try:
            deadline = self._clock.now() + self._deadline_seconds
            answer, _ = answered(self._upstream, request, deadline=deadline, clock=self._clock, gone=lambda: False)
        except Failure as failure:
            gone = self._facts.kind == "model" and failure.code in ("not_connected", "unreachable")
            remedy = ". Remedy: end the playground, start it again and open the address that it prints" if gone else ""
            return _error(failure.status, failure.code, failure.message + remedy)
        if isinstance(answer, Whole):
            return _Reply(status=answer.status, body=answer.body)
        return _Reply(status=200, body=b"".join(answer.parts))

    def _prompts(self, body: bytes, query: Mapping[str, list[str]]) -> _Reply:
        if self._maker is None:
            return _error(404, "no_prompts", self._facts.no_prompts or "prompts cannot be shown")
        free = query.get("free", [""])[0]
        if free and not (free.isdecimal() and len(free) <= TOKEN_DIGITS):
            return _error(400, "bad_value", f"free: {free[:100]!r}; a token id is needed")
        try:
            prompts = self._maker.prompts(body, free=int(free) if free else None)
        except NotShown as error:
            return _error(400, "not_shown", str(error))
        return _Reply(status=200, body=json.dumps(asdict(prompts)).encode())


def _headers(environ: WSGIEnvironment) -> Mapping[str, str]:
    return {name[5:].replace("_", "-").lower(): str(value) for name, value in environ.items() if name[:5] == "HTTP_"}


def _error(status: int, code: str, message: str) -> _Reply:
    body = {"error": message, "code": code, "field": None, "retryable": False}
    return _Reply(status=status, body=json.dumps(body).encode("ascii"))


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
