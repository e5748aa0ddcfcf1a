"""Places for bulk bodies: whatever becomes of one, its place is free again (contract 7). Without a server."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from decision_server import bulk_answering
from decision_server.bulk_answering import answer_bulk
from decision_server.config import load
from decision_server.errors import Refusal
from decision_server.request_body import BULK_BODIES
from decision_server.streamed import StreamedAnswer, Told
from decision_server.wire.model_names import ModelNames
from tests.serving.wire import NAMES


class NoParts:
    """Answers nothing: no line here is a question."""

    @property
    def names(self) -> ModelNames:
        return NAMES

    def answer(self, asked: Any, **limits: Any) -> Any:
        raise AssertionError("no line should be asked")


def begin(body: bytes = b"") -> StreamedAnswer:
    environ: Mapping[str, Any] = {"wsgi.input": io.BytesIO(body), "PATH_INFO": "/invocations"}
    return answer_bulk(load({}), NoParts(), environ, received=time.monotonic(), request_id="r", gone=lambda: False)


def told(answer: StreamedAnswer) -> Told:
    return Told(answer, lambda code, facts: None)


def test_a_body_past_the_limit_is_refused_until_one_is_answered_or_its_caller_has_gone() -> None:
    answers = [told(begin()) for _ in range(BULK_BODIES)]
    with pytest.raises(Refusal, match=f"{BULK_BODIES} bodies") as refused:
        begin()
    assert (refused.value.code, refused.value.retry_after_seconds) == ("queue_full", 10)
    answers[0].close()
    assert b"".join(told(begin(b"\n\n"))) == b"\n\n"
    for answer in answers:
        answer.close()
    assert b"".join(told(begin())) == b""


@pytest.mark.parametrize("broken", ["Intake", "Outflow"])
def test_a_fault_before_the_first_byte_gives_the_place_back(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*given: Any, **more: Any) -> Any:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(bulk_answering, broken, fail)
        for _ in range(BULK_BODIES + 1):
            with pytest.raises(OSError, match="no space"):
                begin()
    assert b"".join(told(begin(b"\n"))) == b"\n"


def test_a_thread_that_cannot_be_started_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: Any) -> Any:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        for _ in range(BULK_BODIES + 1):
            with pytest.raises(RuntimeError, match="new thread"):
                begin()
    assert b"".join(told(begin(b"\n"))) == b"\n"
