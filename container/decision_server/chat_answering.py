"""A typed chat → its answer, whole or streamed, and what the log says of it. Knows the bytes of the chat dialect."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from decision_server.chat_service import ChatService
from decision_server.chats import Ended, Said
from decision_server.errors import Refusal
from decision_server.request_log import LoggedAnswer
from decision_server.streamed import Course, SlowCaller, StreamedAnswer
from decision_server.wire.chat_answers import EVENTS_CONTENT_TYPE, Completion, error_event
from decision_server.wire.chat_bodies import ChatRequest
from decision_server.wire.dialects import Dialect
from decision_server.wire.error_bodies import error_answer

_log = logging.getLogger(__name__)


def answer_chat(
    request: ChatRequest,
    chats: ChatService,
    *,
    model: str,
    request_id: str,
    deadline: float,
    gone: Callable[[], bool],
    takes: Callable[[float], bool],
) -> LoggedAnswer | StreamedAnswer:
    """takes: whether the caller takes what is sent, waited for at most so many seconds. A stream whose caller takes
    nothing up to the deadline ends there, and gives its place back.

    Raises Refusal while nothing of a stream has been sent, and for a whole answer.
    """
    completion = Completion(request_id=request_id, created=int(time.time()), model=model, fingerprint=chats.fingerprint)
    course = Course(facts={"model": model})
    written = chats.answer(request.chat, deadline=deadline, gone=gone)
    parts = _watched(written, course)
    if not request.stream:
        return LoggedAnswer(body=completion.whole(parts), facts=course.facts)
    first = next(parts)  # admission, a full queue, a prompt that does not fit: said by a status, as for a whole answer
    said = _said(completion.events(_with(first, parts), include_usage=request.include_usage), course, request_id)
    events = _taken(said, written, course, takes=lambda: takes(deadline - time.monotonic()))
    return StreamedAnswer(content_type=EVENTS_CONTENT_TYPE, first=next(events), parts=events, course=course)


def _watched(parts: Iterator[Said | Ended], course: Course) -> Iterator[Said | Ended]:
    for part in parts:
        match part:
            case Ended():
                course.facts |= {
                    "prompt_tokens": part.prompt_tokens,
                    "answer_tokens": part.said_tokens,
                    "cut_by": part.cut_by or "nothing",
                }
            case Said():
                pass
        yield part


def _with(first: Said | Ended, parts: Iterator[Said | Ended]) -> Iterator[Said | Ended]:
    yield first
    yield from parts


def _taken(
    events: Generator[bytes, None, None],
    written: Generator[Said | Ended, None, None],
    course: Course,
    *,
    takes: Callable[[], bool],
) -> Generator[bytes, None, None]:
    """Each event once the caller takes it, so that no send waits. written: what the events are made of; it holds a
    place among the chats, which is free again when this ends, however it does. Raises SlowCaller."""
    with closing(written), closing(events):
        for event in events:
            if not takes():
                course.code = "deadline_exceeded"
                raise SlowCaller
            yield event


def _said(events: Iterator[bytes], course: Course, request_id: str) -> Generator[bytes, None, None]:
    """What goes wrong once the answer is under way is said in it: the status is sent already."""
    try:
        yield from events
        course.code = "ok"
    except Refusal as refusal:
        course.code = refusal.code
        yield error_event(error_answer(refusal, request_id, Dialect.CHAT).body)
    except Exception:  # noqa: BLE001 - the border: any fault is logged with its trace, and the caller gets its id
        _log.exception("a request failed", extra={"facts": {"request_id": request_id}})
        course.code = "internal"
        fault = Refusal("internal", "the server failed on this request; its log names the request id")
        yield error_event(error_answer(fault, request_id, Dialect.CHAT).body)
