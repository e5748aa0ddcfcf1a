"""What of a chat's body is read, and that all else is refused by name (contract 6)."""

from __future__ import annotations

from typing import Any

import pytest

from decision_server.chats import Message
from decision_server.errors import Refusal
from decision_server.wire.chat_bodies import ChatRequest, read
from decision_server.wire.dialects import Dialect, dialect_of
from tests.serving.wire import NAMES

HELLO = [{"role": "user", "content": "Hello"}]


def asked(**fields: Any) -> ChatRequest:
    return read({"messages": HELLO, **fields}, NAMES)


def test_a_body_with_messages_is_a_chat_on_either_route() -> None:
    for route in ("/invocations", "/v1/chat/completions"):
        assert dialect_of({"messages": HELLO}, route)[0] is Dialect.CHAT


def test_everything_a_client_may_send_is_read() -> None:
    request = asked(
        model="jev-latest",
        max_completion_tokens=5,
        temperature=0.5,
        top_p=0.9,
        frequency_penalty=-1,
        presence_penalty=2,
        seed=-1,
        stop="END",
        stream=True,
        stream_options={"include_usage": True},
        user="me",
    )
    chat, sampling = request.chat, request.chat.sampling
    assert (request.stream, request.include_usage, chat.max_tokens, chat.stop) == (True, True, 5, ("END",))
    assert (sampling.temperature, sampling.top_p) == (0.5, 0.9)
    assert (sampling.frequency_penalty, sampling.presence_penalty, sampling.seed) == (-1, 2, 2**32 - 2)


def test_what_is_left_out_or_null_is_as_openai_has_it() -> None:
    request = asked(temperature=None, stop=None, n=None, max_tokens=None, tools=None, stream=None)
    assert (request.stream, request.chat.max_tokens, request.chat.stop) == (False, None, ())
    assert (request.chat.sampling.temperature, request.chat.sampling.top_p) == (1, 1)


def test_without_a_seed_one_is_drawn_each_time() -> None:
    assert len({asked().chat.sampling.seed for _ in range(8)}) > 1


def test_all_roles_are_read_and_text_parts_begin_lines() -> None:
    answer = {"role": "assistant", "content": "C", "refusal": None, "tool_calls": None}  # as an answer is sent back
    parts = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    messages: list[Any] = [{"role": "developer", "content": parts}, *HELLO, answer, {"role": "system", "content": ""}]
    assert read({"messages": messages}, NAMES).chat.messages == (
        Message(role="system", content="A\nB"),
        Message(role="user", content="Hello"),
        Message(role="assistant", content="C"),
        Message(role="system", content=""),
    )


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"tools": [{"type": "function"}]}, "bad_value", "tools"),
        ({"response_format": {"type": "json_object"}}, "bad_value", "response_format"),
        ({"n": 2}, "bad_value", "n"),
        ({"n": True}, "bad_value", "n"),
        ({"logprobs": True}, "bad_value", "logprobs"),
        ({"logit_bias": {"1": 1}}, "bad_value", "logit_bias"),
        ({"audio": {}}, "unknown_field", "audio"),
        ({"temperature": 2.1}, "bad_value", "temperature"),
        ({"temperature": "hot"}, "wrong_type", "temperature"),
        ({"temperature": 1e-40}, "bad_value", "temperature"),
        ({"temperature": 9e-7}, "bad_value", "temperature"),
        ({"top_p": True}, "wrong_type", "top_p"),
        ({"max_tokens": 0}, "bad_value", "max_tokens"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "bad_value", "max_tokens"),
        ({"max_tokens": 1.5}, "wrong_type", "max_tokens"),
        ({"seed": 2**63}, "bad_value", "seed"),
        ({"stop": [""]}, "bad_value", "stop[0]"),
        ({"stop": ["x"] * 17}, "bad_value", "stop"),
        ({"stream": 1}, "wrong_type", "stream"),
        ({"stream_options": {"include_usage": True}}, "bad_value", "stream_options"),
        ({"stream": True, "stream_options": {"other": True}}, "unknown_field", "stream_options.other"),
        ({"model": "another"}, "model_not_found", "model"),
        ({"messages": []}, "bad_value", "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "bad_value", "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "missing_field", "messages[0].content"),
        ({"messages": [{"role": "user", "content": 1}]}, "wrong_type", "messages[0].content"),
        ({"messages": [{"role": "user", "content": "x", "name": "me"}]}, "unknown_field", "messages[0].name"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "bad_value",
            "messages[0].content[0].type",
        ),
    ],
)
def test_what_is_not_served_is_refused_by_name(fields: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(Refusal) as caught:
        asked(**fields)
    assert (caught.value.code, caught.value.field) == (code, field)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_the_limit_of_tokens_keeps_the_name_by_which_it_was_asked(name: str) -> None:
    chat = asked(**{name: 7}).chat
    assert (chat.max_tokens, chat.max_tokens_field) == (7, name)


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"max_tokens": 0}, "1 to 9223372036854775807 allowed"),
        ({"seed": 2**63}, "-9223372036854775808 to 9223372036854775807 allowed"),
        ({"top_p": 1.5}, "0 to 1 allowed"),
    ],
)
def test_a_limit_is_told_with_all_its_digits(fields: dict[str, Any], allowed: str) -> None:
    with pytest.raises(Refusal) as refused:
        asked(**fields)
    assert refused.value.message.endswith(allowed)
