"""A model that gives numbers that are not finite for some texts: those requests fail, and no other one notices."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from decision_server.engine import LlamaEngine
from decision_server.scoring import NotFinite, ScoringTask
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.model_side import loaded
from tests.serving.server import SERVE, Server

CLEAN = tuple(range(300, 420))


def poisoned(folder: Path, token: int) -> Path:
    """A tiny model in which one token's embedding is not a number."""
    path = write_tiny_llama(folder / "poisoned.gguf")
    spoil(path, slice(token, token + 1))
    return path


def spoil(path: Path, tokens: slice) -> None:
    reader = gguf.GGUFReader(path, "r+")
    (embeddings,) = (tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    embeddings.data[tokens] = np.nan
    reader.data.flush()


def unused(engine: LlamaEngine, character: str) -> int:
    (token,) = engine.vocabulary.tokenize(character, parse_special=False)
    return token


@pytest.fixture
def model(tmp_path: Path, tiny_llama: Path) -> tuple[Path, int]:
    with loaded(tiny_llama) as engine:
        token = unused(engine, "@")
    return poisoned(tmp_path, token), token


@pytest.mark.parametrize("continuations", [(), ((5, 6), (7, 8, 9))])
def test_after_numbers_that_are_not_finite_shorter_and_longer_tasks_give_their_own_bits(
    model: tuple[Path, int], continuations: tuple[tuple[int, ...], ...]
) -> None:
    path, token = model
    lengths = (20, 50, 99, 120)
    tasks = [ScoringTask(tokens=CLEAN[:n], shared_lengths=(16,), continuations=continuations) for n in lengths]
    with loaded(path, prefix_streams=0) as engine:
        expected = [engine.score(task).logits.tobytes() for task in tasks]
    with loaded(path) as engine:
        for poison in ((*CLEAN[:30], token, *CLEAN[30:100]), (*CLEAN[:100], token)):
            for task, bits in zip(tasks, expected, strict=True):
                with pytest.raises(NotFinite):
                    engine.score(ScoringTask(tokens=poison, shared_lengths=(16,), continuations=continuations))
                score = engine.score(task)
                assert score.logits.tobytes() == bits
                assert all(np.isfinite(one).all() for one in score.continuation_logprobs)


def test_an_answer_that_is_not_finite_spoils_its_request_alone(model: tuple[Path, int]) -> None:
    path, token = model
    with loaded(path) as engine:
        with pytest.raises(NotFinite):
            engine.score(ScoringTask(tokens=CLEAN[:40], continuations=((5, token, 6),)))
        assert np.isfinite(engine.score(ScoringTask(tokens=CLEAN[:20])).logits).all()


@pytest.mark.parametrize("readout", ["letters", "likelihood"])
def test_the_server_answers_500_to_such_a_request_and_goes_on(
    model: tuple[Path, int], tmp_path: Path, readout: str
) -> None:
    asked = {
        "id": "d",
        "question": "Which?",
        "options": [{"id": "a", "description": "This one."}, {"id": "b", "description": "That one."}],
        "readout": readout,
    }
    with Server(SERVE, tmp_path / "log", {"DECISION_MODEL_PATH": str(model[0])}) as server:
        clean = {"decision": asked | {"state": "clean"}}
        before = server.ask(clean).json["result"]["probabilities"]
        spoiled = server.ask({"decision": asked | {"state": "clean " * 20 + "@" + " clean" * 20}})
        assert (spoiled.status, spoiled.json["code"]) == (500, "internal")
        assert server.ask(clean).json["result"]["probabilities"] == before
        assert server.ping().status == 200


def test_a_model_that_is_broken_everywhere_proves_nothing_and_does_not_start(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "broken.gguf")
    spoil(path, slice(None))
    with loaded(path) as engine:
        assert not engine.reuse.cuttable
        assert not engine.reuse.copies
    with Server(SERVE, tmp_path / "log", {"DECISION_MODEL_PATH": str(path)}, wait=False) as server:
        assert server.process.wait(60) == 3


@pytest.mark.parametrize("slots", ["1", "2"])
def test_a_chat_that_is_not_finite_fails_alone_and_the_next_one_says_what_it_said_before(
    model: tuple[Path, int], tmp_path: Path, slots: str
) -> None:
    settings = {"DECISION_MODEL_PATH": str(model[0]), "DECISION_CHAT_N_CTX": "512", "DECISION_CHAT_SLOTS": slots}

    def say(text: str) -> dict[str, object]:
        return {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 8}

    with Server(SERVE, tmp_path / "log", settings) as server:
        before = server.ask(say("hello")).json["choices"][0]["message"]["content"]
        for _ in range(3):
            spoiled = server.ask(say("clean " * 20 + "@" + " clean" * 20))
            assert spoiled.status == 500
            assert server.ask(say("hello")).json["choices"][0]["message"]["content"] == before
        assert server.ping().status == 200
