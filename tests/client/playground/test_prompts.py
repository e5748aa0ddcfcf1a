"""Prompts made beside the server: the same text and tokens as the server's own, for every type and readout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from client.errors import Refused
from client.playground.prompts import NotShown, PromptMaker, Prompts
from client.playground.vocabulary import open_vocabulary
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import Server

OPTIONS = [
    {"id": "a", "description": "Erste Wahl, größer."},
    {"id": "b", "description": "Second 🙂 <|im_end|>."},
    {"id": "c", "description": "Third."},
]


def decision(**changes: Any) -> dict[str, Any]:
    return {"id": "d", "state": {"a": ["ä", 1.5, None]}, "question": "Which?", "options": OPTIONS, **changes}


@pytest.fixture(scope="module")
def maker(tiny: Path) -> PromptMaker:
    return PromptMaker(open_vocabulary(tiny))


def made(maker: PromptMaker, asked: dict[str, Any], free: int | None = None) -> Prompts:
    return maker.prompts(json.dumps({"decision": asked}).encode(), free=free)


@pytest.mark.parametrize(
    "changes",
    [
        {"readout": "letters"},
        {"readout": "letters", "prompt_version": "criterion-first-v1"},
        {"readout": "letters-rotated"},
        {"readout": "likelihood"},
        {"readout": "letters", "options": [{"id": str(n), "description": f"Option {n}."} for n in range(20)]},
    ],
    ids=["letters", "criterion-first", "rotated", "likelihood", "wide"],
)
def test_text_and_tokens_are_those_that_the_server_answered(
    maker: PromptMaker, server: Server, changes: dict[str, Any]
) -> None:
    asked = decision(**changes)
    told = server.ask({"decision": asked}, "/v1/decisions").json["result"]
    shown = made(maker, asked)
    assert (shown.prompt_sha256, shown.readout, shown.prompt_version, shown.gguf_sha256) == (
        told["prompt_sha256"],
        told["readout"],
        told["prompt_version"],
        told["model"]["gguf"]["sha256"],
    )
    assert [option.tokens[0].id for option in shown.options] == told["answer_token_ids"]
    counted = sum(len(prompt.tokens) for prompt in shown.prompts if prompt.kind != "baseline")
    if shown.readout == "likelihood":
        counted += sum(len(option.tokens) for option in shown.options)
    assert counted == told["input_tokens"]


def test_the_tokens_of_a_prompt_spell_its_text(maker: PromptMaker) -> None:
    (prompt,) = made(maker, decision(readout="letters")).prompts
    assert b"".join(bytes.fromhex(token.hex) for token in prompt.tokens).decode() == prompt.text
    assert "🙂 <|im_end|>" in prompt.text


def test_a_token_that_is_part_of_a_character_has_bytes_and_no_text(maker: PromptMaker) -> None:
    (prompt,) = made(maker, decision(readout="letters")).prompts
    parts = [token for token in prompt.tokens if token.text is None]
    assert "f0" in parts[0].hex or "c3" in parts[0].hex
    assert all(token.text is None or token.text.encode().hex(" ") == token.hex for token in prompt.tokens)


def test_a_marker_in_the_request_is_no_control_token(maker: PromptMaker) -> None:
    (prompt,) = made(maker, decision(readout="letters")).prompts
    controls = [token.text for token in prompt.tokens if token.control]
    template = [token.text for token in made(maker, decision(options=OPTIONS[::2])).prompts[0].tokens if token.control]
    assert controls == template


def test_the_token_that_the_model_would_say_is_spelled(maker: PromptMaker) -> None:
    label = made(maker, decision(readout="letters")).options[1].tokens[0]
    free = made(maker, decision(), free=label.id).free
    assert free is not None
    assert (free.id, free.text) == (label.id, "B")


def test_what_cannot_be_shown_says_why(maker: PromptMaker) -> None:
    for body, why in (
        (b"[]", "the body is no JSON object"),
        (b'{"decision": {}}', "decision.id: missing"),
        (json.dumps({"decision": decision(state="x " * 40_000)}).encode(), "more than 32768 tokens"),
    ):
        with pytest.raises(NotShown) as refused:
            maker.prompts(body, free=None)
        assert why in str(refused.value)
    with pytest.raises(NotShown, match="token 999999: this vocabulary has the tokens 0 to"):
        made(maker, decision(), free=999_999)


def test_a_model_that_is_none_is_refused_by_its_path(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 64)
    for path in (broken, tmp_path / "missing.gguf", tmp_path):
        with pytest.raises(Refused, match=str(path)):
            open_vocabulary(path)


def test_prompts_of_another_model_have_another_hash(maker: PromptMaker, tmp_path: Path) -> None:
    other = PromptMaker(open_vocabulary(write_tiny_llama(tmp_path / "other.gguf", seed=4)))
    assert other.gguf_sha256 != maker.gguf_sha256
