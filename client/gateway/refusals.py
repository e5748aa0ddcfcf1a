"""What waitress refuses before the application sees it: told as JSON, as every other error of the gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask

from client.gateway.failure_bodies import as_answer
from client.transport.exchange import Request
from client.transport.failures import Failure

_CODES = {413: "body_too_large", 431: "headers_too_large", 500: "internal", 501: "unsupported_transfer_encoding"}


def channel_for(say: Callable[[str], None], max_body_bytes: int) -> type[HTTPChannel]:
    """say: gets the line of each refusal, as of any request."""

    class Refusing(ErrorTask):
        def execute(self) -> None:
            task: Any = self
            refused = task.request
            request = Request(method="", route=getattr(refused, "path", ""), body=b"", headers={})
            failure = refusal(refused.error.code, refused.error.body, max_body_bytes)
            answer = as_answer(failure, request)
            say(f"{request.route[:60]!r} {answer.status}, not passed on: {failure.message}")
            self.status = f"{answer.status} {refused.error.reason}"
            task.response_headers.extend(answer.headers.items())
            self.set_close_on_finish()
            self.content_length = len(answer.body)
            self.write(answer.body)

    class Channel(HTTPChannel):
        error_task_class = Refusing

    return Channel


def refusal(status: int, why: str, max_body_bytes: int) -> Failure:
    """why: in waitress's words."""
    match code := _CODES.get(status, "malformed_http"):
        case "body_too_large":
            why = f"the body has more than {max_body_bytes} bytes; ask less at once"
        case "internal":
            why = "the gateway failed on this request; its standard error says how"
        case _:
            why = f"the request is not valid or not known HTTP: {why}"[:300]
    return Failure(code, why)
