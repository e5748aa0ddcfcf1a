"""A ScoringEngine that computes nothing: for faults and timings that a real model cannot be asked to have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from decision_server.scoring import EngineFacts, Score, ScoringStopped, ScoringTask

N_VOCAB = 32


class FakeEngine:
    """Records what it is asked. `work` runs inside each `score` and may block or raise; overlaps are counted.

    logits: what the model says at a prompt's end. logprob: of a continuation's token, which is all there is to it.
    """

    def __init__(
        self,
        work: Callable[[ScoringTask], None] = lambda task: None,
        seconds_a_token: float = 0.001,
        *,
        logits: Callable[[ScoringTask], NDArray[np.float32]] | None = None,
        logprob: Callable[[ScoringTask, int], float] = lambda task, token: -1.0,
    ) -> None:
        self._work = work
        self._logits = logits or _slope
        self._logprob = logprob
        self._seconds_a_token = seconds_a_token
        self._inside = threading.Lock()
        self.scored: list[ScoringTask] = []
        self.stopped: list[ScoringTask] = []
        self.threads: set[int] = set()
        self.overlaps = 0
        self.closed = threading.Event()

    @property
    def facts(self) -> EngineFacts:
        return EngineFacts(
            n_vocab=N_VOCAB, n_ctx=4096, n_threads=1, n_gpu_layers=0, llama_cpp="fake", prefix_reuse="none"
        )

    def score(self, task: ScoringTask, *, stop: Callable[[], bool]) -> Score:
        alone = self._inside.acquire(blocking=False)
        self.overlaps += not alone
        try:
            self.threads.add(threading.get_ident())
            self.scored.append(task)
            self._work(task)
            if stop():  # as an engine asks between its decodes
                self.stopped.append(task)
                raise ScoringStopped
        finally:
            if alone:
                self._inside.release()
        n = len(task.tokens)
        return Score(
            logits=self._logits(task),
            cached_tokens=0,
            evaluated_tokens=n,
            forward_seconds=(n + sum(len(one) - 1 for one in task.continuations)) * self._seconds_a_token,
            prefix_seconds=max(task.shared_lengths, default=0) * self._seconds_a_token,
            continuation_logprobs=tuple(
                np.array([self._logprob(task, token) for token in tokens]) for tokens in task.continuations
            ),
        )

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.closed.set()


def _slope(task: ScoringTask) -> NDArray[np.float32]:
    """A straight line as steep as the first token says."""
    return np.linspace(0.0, float(task.tokens[0]), N_VOCAB, dtype=np.float32)


def sleeping(seconds: float) -> Callable[[ScoringTask], None]:
    """Work that takes this long."""
    return lambda task: time.sleep(seconds)
