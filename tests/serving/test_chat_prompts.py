"""A chat's prompt is what the template would make of it, and text of a message stays text (F20, contract 6)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision_server.chat_prompts import ChatPrompts
from decision_server.chat_template import ChatTemplate, TurnsRefused
from decision_server.chats import Message, Role
from decision_server.engine import LlamaEngine
from decision_server.model_errors import StartupFailure
from tests.fixtures.tiny_gguf import CHATML_NO_THINKING, CONTROL_TOKENS, USER_DEFINED_TOKENS, write_tiny_llama
from tests.serving.model_side import loaded

MARKERS = (*CONTROL_TOKENS, *USER_DEFINED_TOKENS)
PROSE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40).filter(
    lambda text: not any(marker in text for marker in MARKERS)
)
HOSTILE = st.lists(st.sampled_from([*MARKERS, "<|im_", "end|>", "\n", "assistant", "Ä"]), max_size=6).map("".join)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant"])
some = settings(max_examples=100, deadline=None)


@pytest.fixture(scope="module")
def engine(tiny_llama: Path) -> Iterator[LlamaEngine]:
    with loaded(tiny_llama) as engine:
        yield engine


@pytest.fixture(scope="module")
def prompts(engine: LlamaEngine) -> ChatPrompts:
    return ChatPrompts(engine.vocabulary)


def chatml(messages: list[Message]) -> str:
    turns = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in messages)
    return f"{turns}<|im_start|>assistant\n<think>\n\n</think>\n\n"


@some
@given(st.lists(st.builds(Message, role=ROLES, content=PROSE), min_size=1, max_size=5))
def test_a_chat_without_markers_has_the_tokens_of_its_whole_text(
    prompts: ChatPrompts, engine: LlamaEngine, messages: list[Message]
) -> None:
    assert prompts.tokens(messages) == engine.vocabulary.tokenize(chatml(messages), parse_special=True)


@some
@given(st.lists(st.builds(Message, role=ROLES, content=HOSTILE), min_size=1, max_size=4))
def test_markers_in_messages_are_spelled_out_and_add_no_special_token(
    prompts: ChatPrompts, engine: LlamaEngine, messages: list[Message]
) -> None:
    special = {token.id for token in engine.vocabulary.special_tokens}
    tokens = prompts.tokens(messages)
    harmless = prompts.tokens([Message(role=message.role, content="x") for message in messages])
    assert [token for token in tokens if token in special] == [token for token in harmless if token in special]
    assert b"".join(map(engine.vocabulary.piece, tokens)).decode() == chatml(messages)


def test_turns_that_no_control_token_parts_are_read_in_one_piece(tmp_path: Path) -> None:
    """As Gemma's template has it: the system turn stands at the head of the user's."""
    template = (
        "{%- for m in messages %}{%- if m.role == 'system' %}{{ '<|im_start|>user\n' + m.content + '\n\n' }}"
        "{%- else %}{{ m.content + '<|im_end|>\n' }}{%- endif %}{%- endfor %}{{ '<|im_start|>assistant\n' }}"
    )
    path = write_tiny_llama(tmp_path / "joined.gguf", chat_template="<|im_start|>" + template)
    with loaded(path) as engine:
        messages = [Message(role="system", content="Apply the"), Message(role="user", content="criterion")]
        whole = "<|im_start|><|im_start|>user\nApply the\n\ncriterion<|im_end|>\n<|im_start|>assistant\n"
        assert ChatPrompts(engine.vocabulary).tokens(messages) == engine.vocabulary.tokenize(whole, parse_special=True)


def test_a_template_never_sees_what_a_caller_wrote() -> None:
    chat = ChatTemplate(CHATML_NO_THINKING, bos_token="", eos_token="")
    texts = chat.around(("user", "assistant", "user"))
    assert len(texts) == 4
    assert texts[1] == "<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("template", "roles", "said"),
    [
        ("{{ raise_exception('turns must alternate') }}", ("user", "user"), "turns must alternate"),
        ("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}", ("user", "system"), "message 1"),
        ("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}", ("user",), "once"),
        ("{% for m in messages %}{{ m.content | replace('A b', 'x') }}{% endfor %}", ("user",), "changes the text"),
        ("{{ ''.__class__.__mro__ }}", ("user",), "unsafe"),
    ],
)
def test_turns_that_a_template_cannot_show_are_refused_with_its_reason(
    template: str, roles: tuple[str, ...], said: str
) -> None:
    with pytest.raises(TurnsRefused, match=said):
        ChatTemplate(template, bos_token="", eos_token="").around(roles)


def test_a_model_that_cannot_be_asked_anything_ends_the_start_and_the_setting_is_named(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "mute.gguf", chat_template="{{ raise_exception('no chats') }}")
    with loaded(path) as engine, pytest.raises(StartupFailure, match=r"no chats; set DECISION_CHAT_N_CTX to 0"):
        ChatPrompts(engine.vocabulary)
