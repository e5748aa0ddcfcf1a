"""The gunicorn worker: threads, with slow clients kept from holding anybody up (F19) and a drain that answers (F18).

gunicorn's own threaded worker waits for a slow message as long as it takes, with a pool thread each, lingers on closing
connections in its accepting thread, and stops accepting on SIGTERM. Here:
- a whole message, headers and body, must arrive within the read timeout;
- only a limited number of threads wait for slow messages, so that there is always one for /ping;
- after SIGTERM connections are accepted and told 503 until admitted work has ended;
- what gunicorn answers itself is JSON.
Written against the pinned gunicorn; tests run the real one.
"""

from __future__ import annotations

import errno
import logging
import select
import socket
import struct
import threading
import time
import uuid
from functools import partial
from http import HTTPStatus
from typing import Any

from gunicorn import util
from gunicorn.errors import HaltServer
from gunicorn.http import get_parser
from gunicorn.http.errors import ParseException
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers import gthread

from decision_server.errors import Refusal
from decision_server.lifecycle import FAILED_EXIT_CODE, Lifecycle, end_process
from decision_server.request_body import MESSAGE, BodyDeadline, NoReaderFree
from decision_server.wire.error_bodies import error_answer

SLOW_READERS = 32  # messages waited for at once
_PLACES_FOR_OTHERS = 128  # of the connections that may be open, kept from those that say nothing
SPARE_THREADS = 8  # for /ping, /metrics and refusals
DRAIN_SECONDS = 20.0
_STOPPING_READ_SECONDS = 2.0  # what a message under way still gets once draining has begun
_SEND_TIMEOUT_SECONDS = 5  # without progress; for a client that does not read its answer
_LINGER_SECONDS = 1.0
_POLL_MILLISECONDS = 200
_BRIEF_SECONDS = 0.03  # of waiting that a message gets in all while no reader is free: its segments are on their way

_log = logging.getLogger(__name__)


class MessageReader(SocketUnreader):  # type: ignore[misc] # gunicorn ships no type information
    """Reads a connection's bytes, each message within `deadline`. At most `readers` threads wait at once."""

    def __init__(self, sock: socket.socket, readers: threading.Semaphore) -> None:
        super().__init__(sock)
        self._readers = readers
        self.deadline = 0.0
        self._pause: float | None = None
        self._brief = _BRIEF_SECONDS

    def begin(self, seconds: float) -> None:
        """A new message, which must be there within so much time."""
        self._pause = None
        self._brief = _BRIEF_SECONDS
        self.deadline = time.monotonic() + seconds

    def allow_pauses(self, seconds: float) -> None:
        """This message may take any time, as long as some of it comes within each so many seconds."""
        self._pause = seconds
        self.deadline = time.monotonic() + seconds

    def end_within(self, seconds: float) -> None:
        self._pause = None
        self.deadline = min(self.deadline, time.monotonic() + seconds)

    def chunk(self, size_hint: int | None = None) -> bytes:
        size: int = min(max(size_hint or 0, self.mxchunk), self.max_body_chunk)
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        if not poll.poll(0):
            self._wait(poll)
        data: bytes = self.sock.recv(size)
        if self._pause is not None:
            self.deadline = time.monotonic() + self._pause
        return data

    def _wait(self, poll: select.poll) -> None:
        if not self._readers.acquire(blocking=False):
            self._wait_briefly(poll)
            return
        try:
            while time.monotonic() < self.deadline:  # read anew each time: a drain shortens it
                if poll.poll(_POLL_MILLISECONDS):
                    return
        finally:
            self._readers.release()
        raise BodyDeadline

    def _wait_briefly(self, poll: select.poll) -> None:
        """An ordinary message that comes in two segments is none to wait for, and not to be refused either."""
        began = time.monotonic()
        ready = poll.poll(self._brief * 1000)
        self._brief = max(0.0, self._brief - (time.monotonic() - began))
        if not ready:
            raise NoReaderFree


class Connection(gthread.TConn):  # type: ignore[misc]
    """Closes at once: lingering was done by the pool thread that answered, not by the thread that accepts."""

    def close(self, graceful: bool = False) -> None:
        util.close(self.sock)


class Worker(gthread.ThreadWorker):  # type: ignore[misc]
    lifecycle: Lifecycle[Any]
    read_timeout_seconds: float

    def init_process(self) -> None:
        self._readers = threading.BoundedSemaphore(SLOW_READERS)
        self._reading: set[MessageReader] = set()
        self._draining = False
        super().init_process()

    def run(self) -> None:
        super().run()
        self.lifecycle.drain(0.0)  # also after an end that no signal asked for
        _log.info("the worker ends", extra={"facts": {"event": "end", "exit_code": self.lifecycle.exit_code}})
        end_process(self.lifecycle.exit_code)

    # the accepting thread

    def murder_pending(self) -> None:
        """Connections on which nothing was ever sent are closed after the time that a message may take, and the oldest
        of them at once where they would leave no place for others.
        """
        limit = time.monotonic() + self.read_timeout_seconds
        crowded = self.nr_conns > self.worker_connections - _PLACES_FOR_OTHERS
        for place, conn in enumerate(self.pending_conns):
            conn.timeout = min(conn.timeout, limit)
            if crowded and place < _PLACES_FOR_OTHERS:
                conn.timeout = 0.0
        super().murder_pending()

    def accept(self, listener: socket.socket) -> None:
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            raise
        self.nr_conns += 1
        sock.setblocking(True)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_TIMEOUT_SECONDS, 0))
        self.enqueue_req(Connection(self.cfg, sock, address, listener.getsockname()))

    def handle_exit(self, sig: int, frame: object) -> None:
        """SIGTERM. Runs inside a signal handler, so it only queues."""
        self.method_queue.defer(self._begin_drain)

    def handle_quit(self, sig: int, frame: object) -> None:
        """SIGQUIT, and Ctrl-C: stop now."""
        end_process(0)

    def end(self) -> None:
        """Stops accepting, finishes what is under way, returns from `run`. Any thread may call it."""
        self.method_queue.defer(self._end)

    def _end(self) -> None:
        self.alive = False
        for conn in self.pending_conns:  # that never sent a byte; gunicorn would wait for them as long as it may
            conn.timeout = min(conn.timeout, time.monotonic())

    def _begin_drain(self) -> None:
        if self._draining:
            return
        self._draining = True
        _log.info("draining", extra={"facts": {"event": "draining", "limit_seconds": DRAIN_SECONDS}})
        for reader in list(self._reading):
            reader.end_within(_STOPPING_READ_SECONDS)
        threading.Thread(target=self._drain, name="drain", daemon=True).start()

    def _drain(self) -> None:
        self.lifecycle.drain(DRAIN_SECONDS)
        self.end()

    # the pool's threads

    def handle(self, conn: gthread.TConn) -> object:
        if conn.parser is None:
            if not conn.data_ready and not conn.wait_for_data(0.0):
                return gthread._DEFER  # the poller waits for its first byte, no thread does
            conn.parser = get_parser(self.cfg, conn.sock, conn.client)
            conn.parser.unreader = MessageReader(conn.sock, self._readers)
        reader: MessageReader = conn.parser.unreader
        patience = _STOPPING_READ_SECONDS if self._draining else self.read_timeout_seconds
        reader.begin(patience)
        MESSAGE.allow_pauses = partial(reader.allow_pauses, patience)
        MESSAGE.leave = partial(reader.end_within, 0)
        self._reading.add(reader)
        try:
            keep = super().handle(conn)
        finally:
            self._reading.discard(reader)
        if not keep:
            self._linger(conn.sock)
        return keep

    def _linger(self, sock: socket.socket) -> None:
        """Half-closes and waits briefly for the client to close, so that it reads its answer before any reset."""
        if not self._readers.acquire(blocking=False):
            return
        try:
            sock.shutdown(socket.SHUT_WR)
            until = time.monotonic() + _LINGER_SECONDS
            while (left := until - time.monotonic()) > 0:
                sock.settimeout(left)
                if not sock.recv(1 << 16):
                    return
        except OSError:
            return
        finally:
            self._readers.release()

    def handle_error(self, req: object, client: socket.socket, addr: object, exc: Exception) -> None:
        """What never reached the application: a message that is not HTTP, or a fault of this worker."""
        request_id = uuid.uuid4().hex
        if isinstance(exc, ParseException):
            refusal = Refusal("malformed_http", f"the request is not valid HTTP: {exc}"[:300])
        else:
            _log.error(
                "a request failed outside the application", exc_info=exc, extra={"facts": {"request_id": request_id}}
            )
            refusal = Refusal("internal", "the server failed on this request; its log names the request id")
        answer = error_answer(refusal, request_id, None)
        headers = {**answer.headers, "Content-Length": str(len(answer.body)), "Connection": "close"}
        lines = [
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
            *(f"{k}: {v}" for k, v in headers.items()),
        ]
        try:
            util.write_nonblock(client, "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body)
        except OSError:
            _log.debug("a client had gone before it could be told of an error")


def halt(reason: str) -> None:
    """Ends gunicorn's master from one of its hooks, instead of a new worker. Its exit code says that serving failed."""
    raise HaltServer(reason, FAILED_EXIT_CODE)
