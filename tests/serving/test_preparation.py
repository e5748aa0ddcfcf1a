"""One decision → one task, with all that its answer will say about it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from decision_server.engine import LlamaEngine
from decision_server.model_errors import StartupFailure, TooManyOptions, UnknownChoice
from decision_server.preparation import Preparer
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.model_side import decision, loaded, preparer
from tests.serving.test_prompt import GOLDEN


@pytest.fixture(scope="module")
def engine(tiny_llama: Path) -> Iterator[LlamaEngine]:
    with loaded(tiny_llama, n_ctx=4096) as engine:
        yield engine


def test_the_golden_decision_keeps_its_published_hash_through_the_whole_path(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision())
    assert prepared.prompt_sha256 == GOLDEN
    assert (prepared.prompt_version, prepared.readout) == ("direct-options-v1", "letters")
    assert [engine.vocabulary.piece(token) for token in prepared.plan.answer_token_ids] == [b"A", b"B", b"C"]
    assert [prepared.input_tokens] == [len(task.tokens) for task in prepared.plan.tasks]


def test_two_hundred_and_fifty_five_options_get_a_label_each_and_the_version_says_so(engine: LlamaEngine) -> None:
    prepared = preparer(engine, n_ctx=8192).prepare(decision(descriptions=[f"n{i}" for i in range(255)]))
    assert prepared.prompt_version == "direct-options-v1-wide"
    assert len(set(prepared.plan.answer_token_ids)) == 255


def test_more_options_than_labels_are_refused_with_both_numbers(engine: LlamaEngine) -> None:
    with pytest.raises(TooManyOptions, match="options: 256 given; at most 255 here"):
        preparer(engine).prepare(decision(descriptions=["x"] * 256))


def test_a_decision_s_own_wishes_win_over_the_settings(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision(prompt_version="direct-options-v1-wide"))
    assert prepared.prompt_version == "direct-options-v1-wide"
    assert prepared.prompt_sha256 != GOLDEN


@pytest.mark.parametrize("field", ["readout", "prompt_version"])
def test_an_unknown_wish_is_refused_by_field_and_an_unknown_setting_stops_the_start(
    engine: LlamaEngine, field: str
) -> None:
    asked = decision(readout="v9") if field == "readout" else decision(prompt_version="v9")
    with pytest.raises(UnknownChoice, match=f"{field}: 'v9' is not known") as refused:
        preparer(engine).prepare(asked)
    assert refused.value.field == field
    settings = {"readout": "letters", "prompt_version": "direct-options-v1", field: "v9"}
    with pytest.raises(StartupFailure, match=f"{field}: 'v9' is not known"):
        Preparer(engine.vocabulary, n_ctx=512, **settings)


def test_astral_characters_nul_and_bom_reach_the_model_uncut(engine: LlamaEngine) -> None:
    text = "\ufeffa\x00b 🧭 é é"
    prepared = preparer(engine).prepare(decision(text))
    spelled = b"".join(engine.vocabulary.piece(token) for token in prepared.plan.tasks[0].tokens)
    assert "\ufeffa\\u0000b 🧭 é é".encode() in spelled
    assert hashlib.sha256(spelled).hexdigest() == prepared.prompt_sha256


def test_many_threads_prepare_at_once_as_one_does_alone(engine: LlamaEngine) -> None:
    prepare = preparer(engine).prepare
    asked = [decision(f"state {i} " * 20, f"question {i}?") for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(prepare, asked)) == [prepare(one) for one in asked]


def test_a_model_without_a_chat_template_stops_the_start(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "bare.gguf", chat_template=None)
    with loaded(path) as engine, pytest.raises(StartupFailure, match=r"no tokenizer\.chat_template"):
        preparer(engine)
