"""Equal bits whatever was computed before, on real and tiny models, whichever way the self-check has chosen.

A fresh engine computes every prompt from its first token, because another prompt was in its context before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from decision_server.scoring import Score, ScoringTask
from tests.fixtures.models import gemma3_270m, smollm2_q8_0
from tests.serving.model_side import loaded

EDGES = (1, 255, 256, 257, 511, 512)
N_CTX = 1100
MODELS: dict[str, Callable[[], Path] | None] = {
    "tiny_llama": None,
    "tiny_hybrid": None,
    "smollm2_q8_0": smollm2_q8_0,
    "gemma3_270m": gemma3_270m,
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Path:
    return path_of(request)


@pytest.fixture(params=[name for name in MODELS if name != "smollm2_q8_0"])
def one_of_a_kind(request: pytest.FixtureRequest) -> Path:
    """A transformer, a hybrid, one with a sliding window."""
    return path_of(request)


def path_of(request: pytest.FixtureRequest) -> Path:
    make = MODELS[request.param]
    path: Path = request.getfixturevalue(request.param) if make is None else make()
    return path


@pytest.fixture
def pairs(request: pytest.FixtureRequest) -> list[tuple[int, int]]:
    """Lengths of prefix and suffix: the edges, and random ones. Fewer on models that take their time."""
    if "tiny" not in request.node.name:
        return list(zip(EDGES, (257, 1, 120, 1, 9, 64), strict=True))
    drawn = random.Random(request.node.name)
    prefixes = [*EDGES, *(drawn.randint(2, 500) for _ in range(12))]
    suffixes = [*EDGES, *(drawn.randint(2, 500) for _ in range(12))]
    return [(prefix, drawn.choice(suffixes)) for prefix in prefixes]


def some_tokens(seed: int, count: int) -> tuple[int, ...]:
    drawn = random.Random(seed)
    return tuple(drawn.randrange(1000) for _ in range(count))


def bits(score: Score) -> tuple[bytes, ...]:
    return (score.logits.tobytes(), *(one.tobytes() for one in score.continuation_logprobs))


@contextmanager
def fresh(path: Path) -> Iterator[Callable[[ScoringTask], tuple[bytes, ...]]]:
    with loaded(path, n_ctx=N_CTX, prefix_streams=0) as engine:
        others = iter(range(10**6))

        def score(task: ScoringTask) -> tuple[bytes, ...]:
            engine.score(ScoringTask(tokens=(1000 + next(others) % 100, *some_tokens(4, 12))))
            found = engine.score(task)
            assert found.cached_tokens == 0
            return bits(found)

        yield score


def work(pairs: list[tuple[int, int]]) -> list[ScoringTask]:
    """Two tasks over most prefixes; of every third pair also with answers to be weighed."""
    result = []
    for number, (prefix_length, suffix_length) in enumerate(pairs):
        prefix = some_tokens(number, prefix_length)
        answers = tuple(some_tokens(900 + i, 1 + i) for i in range(5)) if number % 3 == 0 else ()
        lengths = (suffix_length, 1 + suffix_length % 30) if len(pairs) > 6 or number % 2 else (suffix_length,)
        for question, length in enumerate(lengths):
            result.append(
                ScoringTask(
                    tokens=prefix + some_tokens(100 + 2 * number + question, length),
                    shared_lengths=tuple(cut for cut in (40, prefix_length) if cut <= prefix_length),
                    continuations=answers,
                )
            )
    return result


def test_shared_equals_fresh_alone_equals_in_company_before_equals_after(
    model: Path, pairs: list[tuple[int, int]]
) -> None:
    tasks = work(pairs)
    with fresh(model) as alone:
        expected = [alone(task) for task in tasks]
    with loaded(model, n_ctx=N_CTX, prefix_streams=3) as engine:
        in_order = [engine.score(task) for task in tasks]
        order = random.Random(3).sample(range(len(tasks)), min(len(tasks), 16))
        again = {index: engine.score(tasks[index]) for index in order}
        assert engine.reuse.copies
        assert "equal to a fresh computation bit for bit" in engine.facts.prefix_reuse
    assert [bits(score) for score in in_order] == expected
    assert {index: bits(score) for index, score in again.items()} == {index: expected[index] for index in order}
    assert sum(score.cached_tokens for score in in_order) > 700


def test_a_conversation_that_grows_is_equal_at_every_turn(one_of_a_kind: Path) -> None:
    turns = [some_tokens(turn, 80 + 9 * turn) for turn in range(4)]
    states: list[tuple[int, ...]] = [some_tokens(77, 45)]
    for turn in turns:
        states.append(states[-1] + turn)
    tasks = [ScoringTask(tokens=state + some_tokens(50, 30), shared_lengths=(45, len(state))) for state in states[1:]]
    with fresh(one_of_a_kind) as alone:
        expected = [alone(task) for task in tasks]
    with loaded(one_of_a_kind, n_ctx=N_CTX) as engine:
        scores = [engine.score(task) for task in tasks]
        for score, state in zip(scores[1:], states[1:], strict=False):
            whole_chunks = len(state) // 256 * 256
            assert score.cached_tokens >= min(whole_chunks, len(state)), engine.facts.prefix_reuse
    assert [bits(score) for score in scores] == expected


def test_two_states_in_turn_keep_both_their_prefixes(one_of_a_kind: Path) -> None:
    states = [some_tokens(1, 150), some_tokens(2, 190)]
    tasks = [
        ScoringTask(tokens=state + some_tokens(10 + i, 40), shared_lengths=(len(state),))
        for i in range(3)
        for state in states
    ]
    with fresh(one_of_a_kind) as alone:
        expected = [alone(task) for task in tasks]
    with loaded(one_of_a_kind, n_ctx=N_CTX) as engine:
        scores = [engine.score(task) for task in tasks]
        counters = engine.counters
        assert (counters.hits, counters.misses) == (4, 2)
        assert [score.cached_tokens for score in scores[2:]] == [
            engine.reuse.layout.place(len(state)) for state in states
        ] * 2
    assert [bits(score) for score in scores] == expected
