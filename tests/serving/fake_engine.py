"""A ScoringEngine that computes nothing: for faults and timings that a real model cannot be asked to have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from decision_server.scoring import EngineFacts, Score, ScoringTask

N_VOCAB = 32


class FakeEngine:
    """Records what it is asked. `work` runs inside each `score` and may block or raise; overlaps are counted."""

    def __init__(self, work: Callable[[ScoringTask], None] = lambda task: None, seconds_a_token: float = 0.001) -> None:
        self._work = work
        self._seconds_a_token = seconds_a_token
        self._inside = threading.Lock()
        self.scored: list[ScoringTask] = []
        self.threads: set[int] = set()
        self.overlaps = 0
        self.closed = threading.Event()

    @property
    def facts(self) -> EngineFacts:
        return EngineFacts(
            n_vocab=N_VOCAB, n_ctx=4096, n_threads=1, n_gpu_layers=0, llama_cpp="fake", prefix_reuse="none"
        )

    def score(self, task: ScoringTask) -> Score:
        alone = self._inside.acquire(blocking=False)
        self.overlaps += not alone
        try:
            self.threads.add(threading.get_ident())
            self.scored.append(task)
            self._work(task)
        finally:
            if alone:
                self._inside.release()
        n = len(task.tokens)
        logits = np.linspace(0.0, float(task.tokens[0]), N_VOCAB, dtype=np.float32)
        return Score(logits=logits, cached_tokens=0, evaluated_tokens=n, forward_seconds=n * self._seconds_a_token)

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.closed.set()


def sleeping(seconds: float) -> Callable[[ScoringTask], None]:
    """Work that takes this long."""
    return lambda task: time.sleep(seconds)
