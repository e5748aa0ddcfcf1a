"""A chat on its way to the engine: what is refused, and how early (contract 6). No model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from decision_server.chat_prompts import ChatPrompts
from decision_server.chat_service import ChatService
from decision_server.chats import Chat, Message
from decision_server.errors import Refusal
from decision_server.metrics import Metrics
from decision_server.scheduler import Scheduler
from tests.serving.fake_chats import SAMPLING, FakeChats
from tests.serving.fake_engine import FakeEngine


class FourBytesAToken:
    """counted: the messages that were really tokenised."""

    def __init__(self) -> None:
        self.counted = 0

    def least_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(message.content) for message in messages) // 4

    def tokens(self, messages: Sequence[Message]) -> tuple[int, ...]:
        self.counted += len(messages)
        return (1,) * self.least_tokens(messages)


def ask(prompts: FourBytesAToken, content: str, *, max_tokens: int | None = None) -> list[Any]:
    scheduler = Scheduler(
        FakeEngine(), queue_size=1, observe=lambda score: None, on_failure=lambda error: None, chats=FakeChats()
    )
    scheduler.start()
    service = ChatService(cast(ChatPrompts, prompts), scheduler, n_ctx=100, fingerprint="f", metrics=Metrics())
    chat = Chat(messages=(Message(role="user", content=content),), max_tokens=max_tokens, stop=(), sampling=SAMPLING)
    try:
        return list(service.answer(chat, deadline=float("inf"), gone=lambda: False))
    finally:
        assert scheduler.stop(10)


@pytest.mark.parametrize(("characters", "max_tokens"), [(400, None), (4_000_000, None), (360, 11)])
def test_what_cannot_fit_by_its_length_alone_is_refused_before_a_token_is_counted(
    characters: int, max_tokens: int | None
) -> None:
    prompts = FourBytesAToken()
    with pytest.raises(Refusal) as refused:
        ask(prompts, "x" * characters, max_tokens=max_tokens)
    assert (refused.value.code, refused.value.field) == ("context_overflow", "messages")
    assert f"at least {characters // 4} tokens" in refused.value.message
    assert "100 that a chat may have" in refused.value.message
    assert prompts.counted == 0


def test_what_may_fit_is_tokenised_and_answered() -> None:
    prompts = FourBytesAToken()
    assert ask(prompts, "x" * 360, max_tokens=10)[-1].said_tokens == 10
    assert prompts.counted == 1


def test_more_tokens_than_a_chat_may_have_are_refused_by_the_field_that_asks_for_them() -> None:
    prompts = FourBytesAToken()
    for most in (100, 5000):
        with pytest.raises(Refusal) as refused:
            ask(prompts, "x", max_tokens=most)
        assert (refused.value.code, refused.value.field) == ("context_overflow", "max_tokens")
        assert f"max_tokens: {most} asked; a chat may have 100 tokens" in refused.value.message
    assert prompts.counted == 0
