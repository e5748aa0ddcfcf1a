"""A bulk request as WSGI has it → its answer in parts: intake, lines, outflow and their limits put together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Protocol

from decision_server.bulk import Bulk, Tally
from decision_server.caller import takes
from decision_server.config import Config
from decision_server.errors import Refusal
from decision_server.intake import Intake
from decision_server.outflow import Outflow
from decision_server.request_body import BULK_BODIES, MESSAGE, declared_length
from decision_server.request_log import LoggedAnswer
from decision_server.streamed import Course, StreamedAnswer
from decision_server.wire.asked import Asked
from decision_server.wire.bulk_lines import CONTENT_TYPE, read_line
from decision_server.wire.dialects import ROUTES
from decision_server.wire.lines import Lines
from decision_server.wire.model_names import ModelNames

_places = threading.BoundedSemaphore(BULK_BODIES)


class AnsweringDecisions(Protocol):
    @property
    def names(self) -> ModelNames:
        """What requests may call the model."""

    def answer(self, asked: Asked, *, received: float, deadline: float, gone: Callable[[], bool]) -> LoggedAnswer:
        """Raises Refusal."""


def answer_bulk(
    config: Config,
    parts: AnsweringDecisions,
    environ: Mapping[str, Any],
    *,
    received: float,
    request_id: str,
    gone: Callable[[], bool],
) -> StreamedAnswer:
    """Raises Refusal where nothing of the body can be read."""
    _check(config, environ)
    tally, course = Tally(), Course()
    bulk = Bulk(
        read=partial(
            read_line,
            route=environ["PATH_INFO"],
            max_bytes=config.max_body_bytes,
            max_decisions=config.max_decisions,
            names=parts.names,
        ),
        answer=lambda asked, deadline: parts.answer(asked, received=time.monotonic(), deadline=deadline, gone=gone),
        deadline=received + config.bulk_deadline_seconds,
        body_seconds=config.bulk_deadline_seconds,
        line_seconds=config.deadline_seconds,
        gone=gone,
        request_id=request_id,
        tally=tally,
        dialect=ROUTES[environ["PATH_INFO"]],
    )
    MESSAGE.allow_pauses()
    sent = _parts(
        bulk,
        partial(
            Intake,
            environ["wsgi.input"].read,
            max_bytes=config.bulk_max_bytes,
            timeout_seconds=config.read_timeout_seconds,
            leave=MESSAGE.leave,
        ),
        Lines(max_bytes=config.max_body_bytes),
        partial(Outflow, partial(takes(environ.get("gunicorn.socket")), 0)),
        course,
    )
    return StreamedAnswer(content_type=CONTENT_TYPE, first=next(sent), parts=sent, course=course)


def _parts(
    bulk: Bulk, open_intake: Callable[[], Intake], lines: Lines, open_outflow: Callable[[], Outflow], course: Course
) -> Generator[bytes, None, None]:
    """Raises Refusal at its first part where no place is free. Whatever fails after that gives the place back."""
    course.facts = facts = bulk.tally.facts()
    with _place(), open_intake() as intake, closing(open_outflow()) as outflow:
        try:
            yield b""  # the status, before anything is computed
            for line in bulk.answers(intake, lines):
                outflow.add(line)
                yield from outflow.pieces(everything=intake.whole)
            yield from outflow.pieces(everything=True)
            course.code = bulk.tally.code
        except Refusal as refusal:  # the caller has gone
            course.code = refusal.code
        finally:
            facts.update(bulk.tally.facts())


@contextmanager
def _place() -> Iterator[None]:
    """One of those for bodies. Raises Refusal."""
    if not _places.acquire(blocking=False):
        raise Refusal(
            "queue_full",
            f"{BULK_BODIES} bodies of {CONTENT_TYPE} are being answered, which is the limit; retry later",
            retry_after_seconds=10,
        )
    try:
        yield
    finally:
        _places.release()


def _check(config: Config, environ: Mapping[str, Any]) -> None:
    encoding = environ.get("HTTP_CONTENT_ENCODING", "identity")
    if encoding.strip().lower() != "identity":
        raise Refusal(
            "unsupported_media_type", f"Content-Encoding: {encoding[:100]!r} with {CONTENT_TYPE}; send the lines plain"
        )
    declared = declared_length(environ.get("CONTENT_LENGTH") or None)
    if declared > config.bulk_max_bytes:
        raise Refusal(
            "body_too_large",
            f"the body has {declared} bytes; at most {config.bulk_max_bytes} allowed; send it in parts (the setting "
            "DECISION_BULK_MAX_BYTES moves the limit)",
        )
