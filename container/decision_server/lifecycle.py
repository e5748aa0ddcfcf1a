"""The server's life: loading, ready, draining, failed. Says what `/ping` says, when the process ends, with which code.

Knows no engine and no gunicorn: `assemble` makes the working parts, `end` asks the worker to finish. State is one
attribute, read without a lock.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Generic, Protocol, TypeVar

from decision_server.errors import Refusal

FAILED_EXIT_CODE = 3  # gunicorn's own code for a worker that must not be started again
_FAILED_LINGER_SECONDS = 3.0  # for answers under way when the engine fails; then the process ends whatever they do

_log = logging.getLogger(__name__)


class State(Enum):
    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"


class Parts(Protocol):
    """What `assemble` makes: loaded, warmed up, ready to answer."""

    @property
    def name(self) -> str:
        """The model's name."""

    def begin_drain(self) -> None: ...

    def wait_idle(self, timeout: float) -> bool: ...

    def stop(self, timeout: float) -> bool: ...


P = TypeVar("P", bound=Parts)


class Lifecycle(Generic[P]):
    """assemble: given what to call when the engine fails later, returns the parts; runs on a thread of its own."""

    def __init__(self, assemble: Callable[[Callable[[Exception], None]], P]) -> None:
        self._assemble = assemble
        self._parts: P | None = None
        self._thread = threading.Thread(target=self._load, name="load", daemon=True)
        self._serving = threading.Event()
        self._url = ""
        self._end: Callable[[], None] = lambda: None
        self.state = State.LOADING
        self.exit_code = 0

    @property
    def parts(self) -> P:
        """The working parts. Raises Refusal while there are none to use."""
        parts = self._parts
        if self.state is State.READY and parts is not None:
            return parts
        if self.state is State.LOADING:
            raise Refusal("not_ready", "the model is still loading; retry shortly", retry_after_seconds=5)
        if self.state is State.DRAINING:
            raise Refusal("draining", "this server is shutting down; retry on another one", retry_after_seconds=1)
        raise Refusal("engine_failed", "the engine failed and this server is ending; retry", retry_after_seconds=5)

    def begin(self) -> None:
        """Starts loading in the background. May be called before there is anybody to serve."""
        self._thread.start()

    def serve(self, url: str, end: Callable[[], None]) -> None:
        """From now on the worker answers at `url`: the ready line is printed once the parts are there.

        Loads if `begin` was not called. end: asks the worker to finish what it has and exit.
        """
        self._url, self._end = url, end
        self._serving.set()
        if not self._thread.ident:
            self.begin()

    def drain(self, limit_seconds: float) -> None:
        """Refuses new work, lets admitted work end within the limit, refuses what is left, closes the engine."""
        if self.state is not State.FAILED:
            self.state = State.DRAINING
        parts = self._parts
        if parts is None:
            return
        parts.begin_drain()
        if not parts.wait_idle(limit_seconds):
            _log.warning("drain limit reached", extra={"facts": {"limit_seconds": limit_seconds}})
        if not parts.stop(1.0):
            _log.warning("the engine was still scoring when the process ended")

    def _load(self) -> None:
        started = time.monotonic()
        try:
            parts = self._parts = self._assemble(self._failed)
        except Exception as error:  # noqa: BLE001 - any reason not to load ends the process, and is told
            self._serving.wait()
            self._failed(error)
            return
        self._serving.wait()
        if self.state is not State.LOADING:
            return
        self.state = State.READY
        ready = {
            "event": "ready",
            "url": self._url,
            "model": parts.name,
            "seconds": round(time.monotonic() - started, 3),
        }
        print(json.dumps(ready), flush=True)

    def _failed(self, error: Exception) -> None:
        """The end of a server that cannot answer. Called on the loading thread or the engine's."""
        if self.state is State.FAILED:
            return
        loading = self._parts is None
        self.exit_code = FAILED_EXIT_CODE
        self.state = State.FAILED
        facts = {"event": "load_failed" if loading else "engine_failed", "error": str(error) or type(error).__name__}
        told = "the model could not be loaded" if loading else "the engine failed; the process ends"
        traced = error if _log.isEnabledFor(logging.DEBUG) or not loading else None
        _log.error(told, extra={"facts": facts}, exc_info=traced)
        threading.Thread(target=self._end_soon, name="end", daemon=True).start()

    def _end_soon(self) -> None:
        if self._parts is not None:
            self._parts.wait_idle(_FAILED_LINGER_SECONDS)
        self._end()
        time.sleep(_FAILED_LINGER_SECONDS)
        end_process(FAILED_EXIT_CODE)


def end_process(code: int) -> None:
    """Ends at once. Interpreter shutdown would wait for threads that slow clients hold and for a decode under way."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
