"""The scoring engine: one model, one context, prefixes reused only as far as the self-check proved it exact."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from decision_server.engine import loading
from decision_server.engine.branches import Branches
from decision_server.engine.chat_context import ChatContext
from decision_server.engine.context import Context
from decision_server.engine.layout import Computed
from decision_server.engine.prefixes import KeptPrefixes
from decision_server.engine.reuse import Reuse
from decision_server.engine.sequence import Sequence
from decision_server.engine.vocabulary import Vocabulary
from decision_server.model_errors import EngineClosed, EngineFailure, StartupFailure
from decision_server.scoring import EngineFacts, NotFinite, PrefixCounters, Score, ScoringStopped, ScoringTask

_log = logging.getLogger(__name__)


class LlamaEngine:
    """Implements `scoring.ScoringEngine`. `vocabulary` may be used by any thread until `close`.

    facts: what it runs with. reuse: what the self-check proved. counters: plain numbers, any thread may read them.
    """

    def __init__(self, loaded: loading.Loaded, prefix_streams: int) -> None:
        """Takes ownership of what was loaded; `load` is the way to get here."""
        self._api = loaded.api
        self._model = loaded.model
        self._context: Context = loaded.context
        self._sequence = Sequence(loaded.context)
        self._branches = Branches(loaded.context)
        self._shared = 0  # how many of the sequence's first tokens other tasks are likely to need
        self._chats: ChatContext | None = None
        self._owner = threading.Lock()
        self.facts: EngineFacts = loaded.facts
        self.reuse: Reuse = loaded.reuse
        self.vocabulary: Vocabulary = loaded.vocabulary
        self.counters = PrefixCounters()
        capacity = prefix_streams if loaded.reuse.copies else 0
        self._kept = KeptPrefixes(capacity, self.reuse.layout, self.counters, cuttable=self.reuse.cuttable)
        _log.info("engine ready", extra={"facts": asdict(self.facts)})
        whole = self.reuse.fixed_bytes + self.reuse.token_bytes * self.facts.n_ctx
        room = {
            "most": capacity,
            "bytes_a_token": self.reuse.token_bytes,
            "bytes_each": whole,
            "n_ctx": self.facts.n_ctx,
        }
        _log.info("memory for kept prefixes", extra={"facts": room | {"bytes_in_all": whole * capacity}})

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        n_ctx: int | None,
        n_threads: int,
        n_gpu_layers: int,
        prefix_streams: int,
        flash_attention: bool | None = None,
    ) -> LlamaEngine:
        """A verified GGUF → an engine that has proved how it may reuse prefixes.

        n_ctx: tokens a prompt may have; None: the model's own limit, at most 4096. n_gpu_layers: −1 for all.
        prefix_streams: prefixes kept across tasks. flash_attention: None for the quickest way that proves exact.
        Raises StartupFailure, with everything freed.
        """
        opened = loading.open_model(path, n_ctx=n_ctx, n_gpu_layers=n_gpu_layers)
        return cls(loading.prove(opened, n_threads=n_threads, flash_attention=flash_attention), prefix_streams)

    def open_chats(self, *, n_ctx: int, slots: int) -> ChatContext:
        """A second context on the same weights; `close` closes it too. Called once. Raises StartupFailure."""
        facts = self.facts
        if n_ctx > self.vocabulary.n_ctx_train:
            raise StartupFailure(
                f"DECISION_CHAT_N_CTX: {n_ctx} given; this model allows 1 to {self.vocabulary.n_ctx_train}"
            )
        self._chats = ChatContext(
            self._api,
            self._model,
            self.vocabulary,
            n_ctx=n_ctx,
            slots=slots,
            n_threads=facts.n_threads,
            on_gpu=facts.n_gpu_layers > 0,
        )
        each = self.reuse.fixed_bytes + self.reuse.token_bytes * n_ctx
        known = {"bytes_each": each, "bytes_in_all": each * slots} if each else {}  # as the self-check measured them
        _log.info("memory for chats", extra={"facts": {"slots": slots, "n_ctx": n_ctx, **known}})
        return self._chats

    def score(self, task: ScoringTask, *, stop: Callable[[], bool] = lambda: False) -> Score:
        """Logits after the last token, and what follows it.

        stop: asked between decodes. Raises ScoringStopped once it says True; what was computed stays of use. After
        EngineFailure the engine must be closed; after NotFinite nothing of this task is left in it.
        """
        if not self._owner.acquire(blocking=False):
            raise EngineFailure("two threads use the engine at once; it has one owner at a time")
        try:
            return self._score(task, stop)
        except NotFinite:
            self._kept.clear()
            self._shared = 0
            self._sequence.purge()
            raise
        finally:
            self._owner.release()

    def ends(self, task: ScoringTask, start: int) -> tuple[int, ...]:
        """Where the decodes end that compute tokens[start:]: what the engine's time is to be compared with."""
        return self.reuse.ends(task, start)

    def close(self) -> None:
        """Frees the context before the model; waits for threads inside the vocabulary. May be called twice."""
        if self._model is not None:
            self._kept.clear()
            if self._chats is not None:
                self._chats.close()
            self._context.close()
            self.vocabulary.close()
            self._api.llama_model_free(self._model)
            self._model = None

    def _score(self, task: ScoringTask, stop: Callable[[], bool]) -> Score:
        self._check(task)
        began = time.perf_counter()
        shared = max(task.shared_lengths, default=0)
        start = self._start(task)
        self._shared = shared
        prefix_seconds = time.perf_counter() - began
        done = start
        stops = self.reuse.stops(task)
        for end in self.ends(task, start):
            if stop():
                raise ScoringStopped
            decode_began = time.perf_counter()
            self._sequence.extend(task.tokens, end)
            if end in stops and self._kept.wants(self._sequence.computed):
                self._keep()
            share = max(0, min(end, shared) - done) / (end - done)
            prefix_seconds += share * (time.perf_counter() - decode_began)
            done = end
        logits = self._sequence.logits()
        if not np.isfinite(logits).all():
            raise NotFinite(f"{int((~np.isfinite(logits)).sum())} of {logits.size} logits are not finite")
        self._count(task, start)
        return Score(
            logits=logits,
            cached_tokens=start,
            evaluated_tokens=len(task.tokens) - start,
            continuation_logprobs=self._branches.logprobs(len(task.tokens), logits, task.continuations, stop),
            forward_seconds=time.perf_counter() - began,
            prefix_seconds=prefix_seconds,
        )

    def _check(self, task: ScoringTask) -> None:
        if self._model is None:
            raise EngineClosed("the engine was closed")
        facts = self.facts
        if not 1 <= len(task.tokens) <= facts.n_ctx:
            raise ValueError(f"a task of {len(task.tokens)} tokens; 1 to {facts.n_ctx} fit the context")
        room = facts.n_ctx - len(task.tokens)
        for continuation in task.continuations:
            if not 1 <= len(continuation) <= room:
                raise ValueError(
                    f"a continuation of {len(continuation)} tokens; 1 to {room} fit behind {len(task.tokens)}"
                )
        for tokens in (task.tokens, *task.continuations):
            if not 0 <= min(tokens) <= max(tokens) < facts.n_vocab:
                raise ValueError(f"a token outside [0, {facts.n_vocab})")

    def _start(self, task: ScoringTask) -> int:
        """Brings the sequence to the longest beginning of the task that is already computed; returns its length."""
        held = self._sequence.computed
        in_place = self.reuse.layout.reusable(held, task) if self.reuse.cuttable else 0
        if in_place < self.reuse.layout.place(self._shared):
            self._keep_shared(held)
        length, kept = self._kept.best(task)
        if kept is not None and length > in_place:
            self._kept.used(kept)
            self._sequence.put_back(kept)
        else:
            length = in_place
        if not self._sequence.cut_back(length):
            raise EngineFailure(f"the sequence could not be cut back to {length} tokens")
        return length

    def _keep_shared(self, held: Computed) -> None:
        """Before tokens that others are likely to need are given up, where they can still be copied."""
        if not self.reuse.cuttable:
            return
        shared = held.upto(self._shared)
        if self._kept.wants(shared) and self._sequence.cut_back(self._shared):
            self._keep()

    def _keep(self) -> None:
        self._kept.make_room(self._sequence.computed)
        self._kept.add(self._sequence.copy_out())

    def _count(self, task: ScoringTask, start: int) -> None:
        attainable = self.reuse.attainable(task)
        if attainable == 0:
            return
        if start >= attainable:
            self.counters.hits += 1
        elif start > 0:
            self.counters.partial_hits += 1
        else:
            self.counters.misses += 1
