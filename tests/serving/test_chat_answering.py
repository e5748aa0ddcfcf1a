"""Streams of chats and callers who are slow to take them (contract 6). Around a fake engine, without a server."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import pytest

from decision_server import caller
from decision_server.chat_answering import answer_chat
from decision_server.chat_prompts import ChatPrompts
from decision_server.chat_service import ChatService
from decision_server.chats import Chat, Message
from decision_server.metrics import Metrics
from decision_server.scheduler import Scheduler
from decision_server.streamed import SlowCaller, StreamedAnswer
from decision_server.wire.chat_bodies import ChatRequest
from tests.serving.fake_chats import SAMPLING, FakeChats
from tests.serving.fake_engine import FakeEngine


class OneToken:
    def least_tokens(self, messages: Sequence[Message]) -> int:
        return 1

    def tokens(self, messages: Sequence[Message]) -> tuple[int, ...]:
        return (1,)


@contextmanager
def streaming(takes: Callable[[float], bool], *, seconds: float = 30) -> Iterator[tuple[StreamedAnswer, Scheduler]]:
    scheduler = Scheduler(
        FakeEngine(), queue_size=1, observe=lambda score: None, on_failure=lambda error: None, chats=FakeChats()
    )
    scheduler.start()
    chats = ChatService(cast(ChatPrompts, OneToken()), scheduler, n_ctx=100, fingerprint="f", metrics=Metrics())
    chat = Chat(messages=(Message(role="user", content="x"),), max_tokens=9, stop=(), sampling=SAMPLING)
    request = ChatRequest(chat=chat, stream=True, include_usage=False)
    deadline = time.monotonic() + seconds
    try:
        answer = answer_chat(
            request, chats, model="m", request_id="r", deadline=deadline, gone=lambda: False, takes=takes
        )
        assert isinstance(answer, StreamedAnswer)
        yield answer, scheduler
    finally:
        assert scheduler.stop(10)


def test_a_caller_who_takes_all_gets_all_and_the_place_is_free() -> None:
    with streaming(lambda seconds: True) as (answer, scheduler):
        parts = [answer.first, *answer.parts]
        assert parts[-1] == b"data: [DONE]\n\n"
        assert len(parts) == 1 + 9 + 2
        assert (answer.course.code, scheduler.admitted_chats) == ("ok", 0)


def test_a_caller_who_takes_nothing_up_to_the_deadline_is_left_and_its_place_is_free() -> None:
    waited: list[float] = []

    def takes(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) <= 3

    with streaming(takes) as (answer, scheduler):
        assert [next(answer.parts) for _ in range(2)]
        assert scheduler.admitted_chats == 1
        with pytest.raises(SlowCaller) as slow:
            next(answer.parts)
        assert scheduler.admitted_chats == 0
        assert answer.course.code == "deadline_exceeded"
    assert slow.value.errno == errno.ECONNRESET  # on which gunicorn closes the connection, and no more
    assert all(0 < seconds <= 30 for seconds in waited)  # each up to the deadline


def test_a_stream_that_its_caller_leaves_gives_its_place_back() -> None:
    with streaming(lambda seconds: True) as (answer, scheduler):
        next(answer.parts)
        answer.parts.close()
        assert scheduler.admitted_chats == 0


def test_a_socket_takes_until_its_other_side_reads_no_more_and_again_once_it_does() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        takes = caller.takes(ours)
        ours.setblocking(False)
        sent = 0
        while takes(0):
            sent += ours.send(b"x" * 1000)
        assert not takes(0.05)
        while sent:
            sent -= len(theirs.recv(min(sent, 1 << 16)))
        assert takes(0)


def test_a_test_client_takes_everything_and_is_never_gone() -> None:
    assert caller.takes(None)(0)
    assert not caller.gone(None)()
