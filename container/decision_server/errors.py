"""Everything a caller can be told instead of an answer: one family, one table of statuses (contract 8).

Parts raise `Refusal` at the cause, with the text a caller reads: field, value seen, limit, remedy. `app.py` alone
catches it, and `wire/error_bodies.py` turns it into bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from decision_server.model_errors import ContextOverflow, DecisionRefused, TextNotSpelled
from decision_server.places import Place, spelled


class Answered(NamedTuple):
    """How one kind of refusal is answered. `retryable`: the same request may succeed later, unchanged."""

    status: int
    retryable: bool


CODES: dict[str, Answered] = {
    # the body as bytes
    "not_json": Answered(400, False),
    "repeated_key": Answered(400, False),
    "not_finite": Answered(400, False),
    "too_deep": Answered(400, False),
    "lone_surrogate": Answered(400, False),
    "body_incomplete": Answered(400, False),
    "bad_encoding": Answered(400, False),
    # the body as a request
    "unknown_dialect": Answered(400, False),
    "unsupported_dialect": Answered(400, False),
    "unknown_field": Answered(400, False),
    "missing_field": Answered(400, False),
    "wrong_type": Answered(400, False),
    "bad_value": Answered(400, False),
    "unspellable_text": Answered(400, False),
    # the caller, and whom it asks for
    "authentication_error": Answered(401, False),
    "model_not_found": Answered(404, False),
    # the HTTP around it
    "malformed_http": Answered(400, False),
    "not_found": Answered(404, False),
    "method_not_allowed": Answered(405, False),
    "body_timeout": Answered(408, True),
    "unsupported_media_type": Answered(415, False),
    # sizes
    "body_too_large": Answered(413, False),
    "context_overflow": Answered(413, False),
    # load and life
    "queue_full": Answered(503, True),
    "wait_too_long": Answered(503, True),
    "readers_busy": Answered(503, True),
    "not_ready": Answered(503, True),
    "draining": Answered(503, True),
    "engine_failed": Answered(503, True),
    "deadline_exceeded": Answered(504, True),
    "caller_gone": Answered(499, False),  # nobody reads it; the log and the metrics do
    "internal": Answered(500, False),
}

OF_THE_BODY = frozenset(  # the body came whole and says something that is not a request; System One has 422 for these
    code
    for code, answered in CODES.items()
    if answered.status == 400 and code not in ("malformed_http", "body_incomplete", "bad_encoding")
)


def error_code(error: DecisionRefused) -> str:
    """Of what the model side refuses."""
    match error:
        case ContextOverflow():
            return "context_overflow"
        case TextNotSpelled():
            return "unspellable_text"
    return "bad_value"


class Refusal(Exception):
    """A request that gets no answer, and why.

    code: a key of CODES. place: where in the body, or None where no place is at fault; `field` spells it like
    `decisions[2].options`.
    retry_after_seconds: when a retry may succeed; only for retryable codes.
    """

    def __init__(
        self, code: str, message: str, *, place: Place | None = None, retry_after_seconds: int | None = None
    ) -> None:
        super().__init__(message)
        answered = CODES[code]
        if retry_after_seconds is not None and not answered.retryable:
            raise ValueError(f"retry_after_seconds given for {code!r}, which no retry helps")
        self.code = code
        self.message = message
        self.place = place
        self.status = answered.status
        self.retryable = answered.retryable
        self.retry_after_seconds = retry_after_seconds

    @property
    def field(self) -> str | None:
        """The place in words; None for the body as a whole."""
        return spelled(self.place) or None if self.place is not None else None
