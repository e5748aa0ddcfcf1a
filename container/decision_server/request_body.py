"""Reads a request's whole body before anything else happens to it (F19). Knows WSGI and gunicorn's framing errors.

The worker's socket reader gives the deadline: past it, reading raises BodyDeadline here.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gunicorn.http.errors import NoMoreData, ParseException

from decision_server.errors import Refusal

MAX_DISCARDED_BYTES = (
    32 << 20
)  # more than InvokeEndpoint forwards; a caller that sends on past it meets a closed socket
BULK_BODIES = 4  # worked on at once while they arrive; each keeps one of the server's threads for as long as it takes
_STEP = 1 << 16

Reader = Callable[[int], bytes]


class BodyDeadline(TimeoutError):
    """The whole message had not arrived within the read timeout. Its errno is one that gunicorn closes on quietly."""

    def __init__(self) -> None:
        super().__init__(errno.ECONNRESET, "the message did not arrive within the read timeout")


class NoReaderFree(OSError):
    """As many slow messages are being waited for as the server waits for at once."""

    def __init__(self) -> None:
        super().__init__(errno.ECONNRESET, "no reader is free for a slow message")


class _Message(threading.local):
    """The message that this thread answers. allow_pauses: from now on the read timeout is that of a pause in it, for a
    body that is worked on while it arrives. leave: no more of it is wanted; whoever reads it is told BodyDeadline soon.
    The worker sets both; without one there is no timeout."""

    def __init__(self) -> None:
        self.allow_pauses: Callable[[], None] = lambda: None
        self.leave: Callable[[], None] = lambda: None


MESSAGE = _Message()


def read_body(read: Reader, *, content_length: str | None, max_bytes: int, timeout_seconds: float) -> bytes:
    """The body, complete. read: of `wsgi.input`, which ends where the body ends. Raises Refusal."""
    with refusing(timeout_seconds=timeout_seconds):
        body = _read(read, max_bytes, declared=declared_length(content_length))
    if content_length is not None and len(body) != int(content_length):
        raise Refusal("body_incomplete", f"{len(body)} bytes came of the {content_length} announced; send all of them")
    return body


@contextmanager
def refusing(*, timeout_seconds: float) -> Iterator[None]:
    """What reading a body raises, as refusals. timeout_seconds: as the caller is told it."""
    try:
        yield
    except BodyDeadline as error:
        raise Refusal(
            "body_timeout",
            f"the body did not arrive within {timeout_seconds:g} s; send it faster or in smaller requests",
        ) from error
    except NoReaderFree as error:
        raise Refusal(
            "readers_busy", "too many bodies are arriving slowly at once; retry later", retry_after_seconds=1
        ) from error
    except NoMoreData as error:
        raise Refusal("body_incomplete", "the connection ended before the body did; send it again") from error
    except ParseException as error:
        raise Refusal("malformed_http", f"the body's chunked encoding is broken: {error}") from error


def declared_length(content_length: str | None) -> int:
    """0 where the body's length is not announced. Raises Refusal."""
    if content_length is None:
        return 0
    if not content_length.isascii() or not content_length.isdigit():
        raise Refusal("malformed_http", f"Content-Length: {content_length[:40]!r} is not a number")
    return int(content_length)


def _read(read: Reader, max_bytes: int, *, declared: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while data := read(_STEP) if declared <= MAX_DISCARDED_BYTES else b"":
        size += len(data)
        if size > MAX_DISCARDED_BYTES:
            break
        if size <= max_bytes:
            parts.append(data)
    seen = max(size, declared)
    if seen > max_bytes:
        # read to its end all the same: a caller still sending would otherwise see a reset in place of this answer
        raise Refusal(
            "body_too_large", f"the body has {seen} bytes or more; at most {max_bytes} allowed; ask less at once"
        )
    return b"".join(parts)
