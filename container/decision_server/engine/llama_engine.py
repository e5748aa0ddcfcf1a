"""The scoring engine: one model, one context, prefixes reused only as far as the self-check proves it exact."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

from decision_server.engine import library, self_check
from decision_server.engine.branches import Branches
from decision_server.engine.context import Context
from decision_server.engine.prefixes import Kept, KeptPrefixes, cuts
from decision_server.engine.self_check import Reuse
from decision_server.engine.sequence import Sequence
from decision_server.engine.vocabulary import Vocabulary
from decision_server.model_errors import EngineClosed, EngineFailure, StartupFailure
from decision_server.scoring import EngineFacts, Score, ScoringTask

_log = logging.getLogger(__name__)
_DEFAULT_N_CTX = 4096


class LlamaEngine:
    """Implements `scoring.ScoringEngine`. `vocabulary` may be used by any thread until `close`."""

    def __init__(self, model: Any, vocabulary: Vocabulary, context: Context, prefix_streams: int) -> None:
        """Takes ownership of all three; `load` is the way to get here."""
        self._model = model
        self._context = context
        self._sequence = Sequence(context)
        self._branches = Branches(context)
        self._held: tuple[int, ...] = ()  # the tokens that the sequence really holds
        self._kept = KeptPrefixes(prefix_streams)
        self._reuse = Reuse.NOTHING
        self._owner = threading.Lock()
        self._facts: EngineFacts | None = None
        self.vocabulary = vocabulary

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        n_ctx: int | None,
        n_threads: int,
        n_gpu_layers: int,
        prefix_streams: int,
        flash_attention: bool = False,
    ) -> LlamaEngine:
        """A verified GGUF → an engine that has proved how it may reuse prefixes.

        n_ctx: tokens a prompt may have; None: the model's own limit, at most 4096. n_gpu_layers: −1 for all.
        prefix_streams: prefixes kept across tasks. Raises StartupFailure, with everything freed.
        """
        loaded = library.load()
        api = loaded.api
        parameters = api.llama_model_default_params()
        parameters.n_gpu_layers = n_gpu_layers
        model = api.llama_model_load_from_file(str(path).encode(), parameters)
        if not model:
            raise StartupFailure(f"llama.cpp (llama-cpp-python {loaded.version}) could not load {path}")
        try:
            if not api.llama_model_has_decoder(model) or api.llama_model_has_encoder(model):
                raise StartupFailure(f"{path} is not a decoder-only model, and no other kind can answer here")
            vocabulary = Vocabulary(api, model)
            size = min(_DEFAULT_N_CTX, vocabulary.n_ctx_train) if n_ctx is None else n_ctx
            if not 1 <= size <= vocabulary.n_ctx_train:
                raise StartupFailure(f"n_ctx: {size} given; this model allows 1 to {vocabulary.n_ctx_train}")
            context = Context(
                api,
                model,
                n_ctx=size,
                n_threads=n_threads,
                on_gpu=n_gpu_layers != 0,
                flash_attention=flash_attention,
            )
        except BaseException:
            api.llama_model_free(model)
            raise
        engine = cls(model, vocabulary, context, prefix_streams)
        try:
            engine._reuse = self_check.run(engine._sequence, vocabulary.n_tokens, size)
        except BaseException:
            engine.close()
            raise
        engine._facts = EngineFacts(
            n_vocab=vocabulary.n_tokens,
            n_ctx=size,
            n_threads=n_threads,
            n_gpu_layers=n_gpu_layers,
            llama_cpp=f"llama-cpp-python {loaded.version}",
            prefix_reuse=engine._reuse.value,
        )
        _log.info("engine ready: %s", engine._facts)
        return engine

    @property
    def facts(self) -> EngineFacts:
        if self._facts is None:
            raise EngineClosed("the engine was never loaded")
        return self._facts

    def score(self, task: ScoringTask) -> Score:
        """Logits after the last token. After EngineFailure the engine must be closed."""
        if not self._owner.acquire(blocking=False):
            raise EngineFailure("two threads use the engine at once; it has one owner at a time")
        try:
            return self._score(task)
        finally:
            self._owner.release()

    def close(self) -> None:
        """Frees the context before the model; waits for threads inside the vocabulary. May be called twice."""
        if self._model is not None:
            self._kept.clear()
            self._context.close()
            self.vocabulary.close()
            self._context.api.llama_model_free(self._model)
            self._model = None

    def _score(self, task: ScoringTask) -> Score:
        if self._model is None:
            raise EngineClosed("the engine was closed")
        self._check(task)
        began = time.perf_counter()
        cached = self._start(task)
        prefix_seconds = time.perf_counter() - began
        for end in (*(cut for cut in cuts(task) if cut > cached), len(task.tokens)):
            self._sequence.extend(task.tokens[len(self._held) : end], output=end == len(task.tokens))
            self._held = task.tokens[:end]
            if end < len(task.tokens):
                if self._reuse is not Reuse.NOTHING and self._kept.wants(self._held):
                    self._kept.add(Kept(tokens=self._held, memory=self._sequence.copy_out()))
                prefix_seconds = time.perf_counter() - began
        logits = self._sequence.logits()
        return Score(
            logits=logits,
            cached_tokens=cached,
            evaluated_tokens=len(task.tokens) - cached,
            continuation_logprobs=self._branches.logprobs(len(task.tokens), logits, task.continuations),
            forward_seconds=time.perf_counter() - began,
            prefix_seconds=prefix_seconds,
        )

    def _check(self, task: ScoringTask) -> None:
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
        """Brings the sequence to the longest prefix of the task that is already computed; returns its length."""
        held, self._held = self._held, ()  # unknown, should anything below fail
        start = 0
        kept = None if self._reuse is Reuse.NOTHING else self._kept.longest(task, cuts(task))
        in_place = self._in_place(held, task) if self._reuse is Reuse.IN_PLACE else 0
        if in_place >= (len(kept.tokens) if kept else 1) and self._sequence.cut_back(in_place):
            start = in_place
        elif kept is not None:
            self._sequence.put_back(kept.memory, len(kept.tokens))
            start = len(kept.tokens)
        else:
            self._sequence.clear()
        self._held = task.tokens[:start]
        return start

    @staticmethod
    def _in_place(held: tuple[int, ...], task: ScoringTask) -> int:
        """The longest cut of the task up to which the sequence holds the task's own tokens."""
        return max((cut for cut in cuts(task) if held[:cut] == task.tokens[:cut]), default=0)
