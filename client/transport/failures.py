"""Why there is no answer of the server: the kinds, and what each means for a second try."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """status: as HTTP would say it. tries: how often the same is asked at most; None: as long as there is time."""

    status: int
    tries: int | None


KINDS = {
    # the request
    "malformed_http": Kind(400, 1),
    "bad_encoding": Kind(400, 1),
    "repeated_route": Kind(400, 1),
    "refused_by_sagemaker": Kind(400, 1),
    "not_found": Kind(404, 1),
    "method_not_allowed": Kind(405, 1),
    "body_too_large": Kind(413, 1),
    "unsupported_media_type": Kind(415, 1),
    "headers_too_large": Kind(431, 1),
    "unsupported_transfer_encoding": Kind(501, 1),
    # the way to the endpoint; 4xx where only a person can help, so that clients do not ask again
    "aws_credentials": Kind(403, 1),
    "access_denied": Kind(403, 1),
    "not_for_browsers": Kind(403, 1),
    "endpoint_not_found": Kind(404, 1),
    "not_connected": Kind(
        502, 4
    ),  # nothing was sent: perhaps a server that starts anew, but soon a person wants to know
    "unreachable": Kind(502, 1),  # it may be worked on
    # load and life
    "throttled": Kind(429, None),
    "unavailable": Kind(503, None),
    "draining": Kind(503, 1),
    "deadline_exceeded": Kind(504, 1),
    "model_timeout": Kind(504, 1),
    "stream_cut": Kind(502, 1),
    "internal": Kind(500, 1),
}


class Failure(Exception):
    """No answer of the server. code: a key of KINDS. The text is what a client reads. asked: how often was tried."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.status, self.tries = KINDS[code]
        self.asked = 0


class StreamCut(Failure):
    """An answer that began and does not end."""

    def __init__(self, message: str) -> None:
        super().__init__("stream_cut", message)
