"""A body that is worked on while it arrives: read by a thread of its own, kept on disk until it is asked for.

So the caller can send on whatever becomes of its answers, and what waits takes no memory. Knows files and threads; no
lines and no HTTP.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from types import TracebackType

from decision_server.errors import Refusal
from decision_server.request_body import Reader, refusing

_READ = 512  # a read waits for all of it, and so do the lines in it
_GIVE = 1 << 16
_LEAVE_SECONDS = 1.0


class Intake:
    """A context manager. read: of `wsgi.input`; raises BodyDeadline after a pause of `timeout_seconds`, and soon once
    `leave` was called."""

    def __init__(
        self, read: Reader, *, max_bytes: int, timeout_seconds: float, leave: Callable[[], None] = lambda: None
    ) -> None:
        self._read = read
        self._leave = leave
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed on exit
        self._changed = threading.Condition()
        self._arrived = 0
        self._given = 0
        self._left = False
        self._whole = False
        self._refusal: Refusal | None = None
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)

    def __enter__(self) -> Intake:
        try:
            self._thread.start()
        except RuntimeError:  # the system has no room for another
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._left = True
            self._file.close()
        if not self._whole:  # nobody else may read the connection before its reader has let go of it
            self._leave()
            self._thread.join(_LEAVE_SECONDS)

    @property
    def whole(self) -> bool:
        """Whether no more will come."""
        return self._whole

    def piece(self, *, wait: float) -> bytes | None:
        """The next bytes; b"" at the body's end; None where none came within `wait` seconds.

        Raises Refusal where the rest of the body will not come, once all that came has been given.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._arrived > self._given or self._whole, wait)
            if self._arrived > self._given:
                data = os.pread(self._file.fileno(), min(_GIVE, self._arrived - self._given), self._given)
                self._given += len(data)
                return data
            if not self._whole:
                return None
            if self._refusal is not None:
                raise self._refusal
            return b""

    def _run(self) -> None:
        try:
            with refusing(timeout_seconds=self._timeout_seconds):
                self._receive()
        except Refusal as refusal:
            self._refusal = refusal
        except (OSError, ValueError):  # the connection is gone, or was closed by whoever answered on it
            self._refusal = Refusal("body_incomplete", "the connection ended before the body did; send it again")
        finally:
            with self._changed:
                self._whole = True
                self._changed.notify_all()

    def _receive(self) -> None:
        while True:
            data = self._read(_READ)
            with self._changed:
                if self._left or not data:
                    return
                if self._arrived + len(data) > self._max_bytes:
                    raise Refusal(
                        "body_too_large",
                        f"the body has more than {self._max_bytes} bytes; send the rest in another (the setting "
                        "DECISION_BULK_MAX_BYTES moves the limit)",
                    )
                os.pwrite(self._file.fileno(), data, self._arrived)
                self._arrived += len(data)
                self._changed.notify_all()
