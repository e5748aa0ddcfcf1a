"""What the scheduler hands to an engine and gets back. The seam at which tests put a fake engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

DECODE_TOKENS = 256  # computed at a time, at most; in between an engine looks whether it shall stop


@dataclass(frozen=True, kw_only=True)
class ScoringTask:
    """One question, ready for the model.

    tokens: the whole prompt, ids in [0, n_vocab), 1 ≤ len ≤ n_ctx.
    shared_lengths: ascending prefix lengths, each < len(tokens), at which other tasks are likely to branch off:
        the end of the prompt's fixed head, the end of the state. The engine may keep what it computed up to there.
    continuations: answers whose probability is asked for, each at least one token, to be read as if they followed the
        prompt; len(tokens) + len(continuation) ≤ n_ctx for each. Empty for a readout that needs the last logits alone.
    """

    tokens: tuple[int, ...]
    shared_lengths: tuple[int, ...] = ()
    continuations: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Score:
    """The model's answer to one task.

    logits: float32[n_vocab], unnormalised, at the last position of the prompt; a copy the caller owns.
    cached_tokens: how many leading tokens were not computed again. cached_tokens + evaluated_tokens == len(tokens).
    forward_seconds: wall time in the engine, copies of cached prefixes included.
    prefix_seconds: the part of forward_seconds spent up to the last of the task's shared_lengths.
    continuation_logprobs: one float64[len(continuation)] for each of the task's continuations: the natural log of each
        token's probability after the prompt and the continuation's tokens before it.
    """

    logits: NDArray[np.float32]
    cached_tokens: int
    evaluated_tokens: int
    forward_seconds: float
    prefix_seconds: float = 0.0
    continuation_logprobs: tuple[NDArray[np.float64], ...] = ()

    @property
    def answer_rows(self) -> int:
        """Tokens of continuations that were computed: the last one of each is only read."""
        return sum(len(one) - 1 for one in self.continuation_logprobs)


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """What the loaded engine really runs with; goes into every answer's `model`."""

    n_vocab: int
    n_ctx: int
    n_threads: int
    n_gpu_layers: int
    llama_cpp: str
    prefix_reuse: str  # the path the start-up self-check proved exact, in words


@dataclass(kw_only=True)
class PrefixCounters:
    """What became of prefixes since the start. Plain numbers: the engine's thread writes them, any thread reads them.

    hits: tasks that found all computed that they share with others; partial_hits: some of it; misses: nothing.
    evictions: copies given up for newer ones. kept_prefixes, kept_bytes: copies there now, in host memory.
    """

    hits: int = 0
    partial_hits: int = 0
    misses: int = 0
    evictions: int = 0
    kept_prefixes: int = 0
    kept_bytes: int = 0


class ScoringStopped(Exception):
    """A task was given up because nobody waits for it any more. The engine goes on."""


class NotFinite(Exception):
    """The model gave numbers on this task that are not finite. The engine has forgotten all it held, and goes on."""


class ScoringEngine(Protocol):
    """One owner at a time: the scheduler's single thread calls `score` and `close`, nobody else does."""

    @property
    def facts(self) -> EngineFacts: ...

    def score(self, task: ScoringTask, *, stop: Callable[[], bool]) -> Score:
        """stop: asked between decodes, so every DECODE_TOKENS at the latest. Raises ScoringStopped once it says True,
        and NotFinite."""

    def close(self) -> None: ...
