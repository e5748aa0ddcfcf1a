"""The log-probability of whole answers: right, equal bit for bit whatever else was asked, and without traces."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from decision_server.engine import LlamaEngine
from decision_server.engine.branches import groups
from decision_server.scoring import Score, ScoringStopped, ScoringTask
from tests.fixtures.models import smollm2_q8_0
from tests.serving.model_side import loaded

MODELS = ["tiny_llama", "tiny_hybrid"]


@pytest.fixture(params=MODELS)
def tiny(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def some_tokens(seed: int, count: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(0, 1000, count).tolist())


def answers(seed: int, count: int, longest: int = 12) -> tuple[tuple[int, ...], ...]:
    random = np.random.default_rng(seed)
    return tuple(tuple(random.integers(0, 1000, random.integers(1, longest + 1)).tolist()) for _ in range(count))


def one_at_a_time(engine: LlamaEngine, tokens: tuple[int, ...], continuation: tuple[int, ...]) -> NDArray[np.float64]:
    """The independent way: a prompt for each token that is read."""
    result = []
    for place, token in enumerate(continuation):
        logits = engine.score(ScoringTask(tokens=tokens + continuation[:place])).logits.astype(np.float64)
        shifted = logits - logits.max()
        result.append(shifted[token] - np.log(np.exp(shifted).sum()))
    return np.array(result)


def bits(score: Score) -> tuple[bytes, ...]:
    return (score.logits.tobytes(), *(one.tobytes() for one in score.continuation_logprobs))


def test_each_token_of_a_continuation_gets_its_log_probability(tiny: Path) -> None:
    """Tolerance: kernels differ by the number of rows; half-precision weights and cache."""
    prompt, continuations = some_tokens(1, 70), answers(2, 9)
    with loaded(tiny) as engine:
        score = engine.score(ScoringTask(tokens=prompt, shared_lengths=(30,), continuations=continuations))
        expected = [one_at_a_time(engine, prompt, continuation) for continuation in continuations]
    assert [one.dtype for one in score.continuation_logprobs] == [np.float64] * 9
    assert [len(one) for one in score.continuation_logprobs] == [len(one) for one in continuations]
    for mine, other in zip(score.continuation_logprobs, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=0.01)


@pytest.mark.parametrize("prompt_length", [1, 90, 255, 256, 300])
def test_continuations_are_the_same_bits_fresh_reused_and_after_other_work(tiny: Path, prompt_length: int) -> None:
    prompt = some_tokens(prompt_length, prompt_length)
    asked = ScoringTask(tokens=prompt, shared_lengths=(40,) * (prompt_length > 40), continuations=answers(5, 30))
    plain = ScoringTask(tokens=prompt, shared_lengths=asked.shared_lengths)
    other = ScoringTask(tokens=some_tokens(8, 111), continuations=answers(9, 7))
    with loaded(tiny, prefix_streams=0) as engine:
        fresh = bits(engine.score(asked))
    with loaded(tiny) as engine:
        scores = [engine.score(one) for one in (other, plain, asked, other, asked, plain)]
    assert bits(scores[2]) == bits(scores[4]) == fresh
    assert bits(scores[1]) == bits(scores[5]) == fresh[:1]
    assert bits(scores[0]) == bits(scores[3])


def test_255_long_answers_are_answered(tiny: Path) -> None:
    with loaded(tiny) as engine:
        score = engine.score(ScoringTask(tokens=some_tokens(1, 50), continuations=answers(3, 255)))
    assert len(score.continuation_logprobs) == 255
    assert all((one < 0).all() for one in score.continuation_logprobs)


def test_answers_longer_than_a_decode_and_up_to_the_end_of_the_context_are_answered(tiny: Path) -> None:
    prompt, long = some_tokens(1, 100), some_tokens(2, 412)
    with loaded(tiny, n_ctx=512) as engine:
        score = engine.score(ScoringTask(tokens=prompt, continuations=((7,), long, long[:3])))
        with pytest.raises(ValueError, match="a continuation of 413 tokens; 1 to 412 fit behind 100"):
            engine.score(ScoringTask(tokens=prompt, continuations=((*long, 1),)))
        alone = one_at_a_time(engine, prompt, long[:3])
    assert [len(one) for one in score.continuation_logprobs] == [1, 412, 3]
    np.testing.assert_allclose(score.continuation_logprobs[1][:3], alone, atol=0.01)


@pytest.mark.parametrize("continuation", [(), (-1,), (5, 1188)])
def test_a_continuation_that_is_empty_or_outside_the_vocabulary_is_refused(
    tiny_llama: Path, continuation: tuple[int, ...]
) -> None:
    with loaded(tiny_llama) as engine, pytest.raises(ValueError, match=r"a continuation of 0 tokens|a token outside"):
        engine.score(ScoringTask(tokens=(1, 2), continuations=(continuation,)))


def test_a_real_model_finds_the_answer_that_follows() -> None:
    with loaded(smollm2_q8_0(), n_ctx=512) as engine:
        text = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
        prompt = engine.vocabulary.tokenize(text, parse_special=True)
        words = ("The capital of France is Paris.", "The capital of France is bread.", "Purple")
        continuations = tuple(engine.vocabulary.tokenize(word, parse_special=False) for word in words)
        score = engine.score(ScoringTask(tokens=prompt, continuations=continuations))
    right, wrong, odd = (float(one.sum()) for one in score.continuation_logprobs)
    assert right > wrong + 2
    assert score.continuation_logprobs[0][0] > odd + 2


def test_groups_fill_a_decode_in_order_and_leave_out_what_needs_no_row() -> None:
    assert list(groups([0, 3, 4, 0, 2, 20, 1], n_branches=8, n_rows=8)) == [(1, 2), (4,), (5,), (6,)]
    assert list(groups([1, 1, 1, 1, 1], n_branches=2, n_rows=8)) == [(0, 1), (2, 3), (4,)]
    assert list(groups([0, 0], n_branches=2, n_rows=8)) == []


def test_a_task_that_is_stopped_anywhere_leaves_no_trace_in_what_comes_after(tiny: Path) -> None:
    prompt = some_tokens(4, 600)
    asked = ScoringTask(tokens=prompt, shared_lengths=(40, 300), continuations=answers(5, 200))
    other = ScoringTask(tokens=prompt[:300] + some_tokens(6, 90), shared_lengths=(40, 300), continuations=answers(9, 7))
    with loaded(tiny, prefix_streams=0) as engine:
        fresh = bits(engine.score(asked)), bits(engine.score(other))
    with loaded(tiny) as engine:
        stops = 0
        for last in range(100):
            asks = iter([False] * last)
            try:
                found = engine.score(asked, stop=partial(next, asks, True))
            except ScoringStopped:
                stops += 1
                assert bits(engine.score(other)) == fresh[1]
                continue
            assert bits(found) == fresh[0]
            break
    assert stops >= 4  # between the decodes of the prompt, and between the groups of its answers
