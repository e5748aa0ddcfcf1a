"""What the comparison must know of this project's engine, read off the engine itself rather than written down again.

It loads the engine as the server does, keeps what the engine passes to llama.cpp for its context, and prepares
decisions as the server prepares them. Nothing here computes for a measurement.
"""

from __future__ import annotations

import ctypes
import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.workloads import Asked
from decision_server import model_files, threads
from decision_server.decisions import Decision, Option
from decision_server.engine import LlamaEngine, library, self_check
from decision_server.preparation import Preparer
from decision_server.scoring import ScoringTask

DIRECT_OPTIONS = "direct-options-v1"
_NOT_MADE: Any = None
_BUFFER = re.compile(r"(?:KV|RS) buffer size\s*=\s*([\d.]+) MiB")


class OwnSide:
    """parameters: the llama_context_params of the engine's last context. self_check_seconds: of this load.
    cache_bytes: what llama.cpp reserved for the keys, values and recurrent states of that context."""

    def __init__(self, path: Path, *, n_ctx: int | None) -> None:
        self.api = library.load().api
        self.parameters: Any = _NOT_MADE
        self.self_check_seconds = 0.0
        self.cache_bytes = 0
        _WatchLog(self)
        self._watch_context()
        self._watch_self_check()
        files = model_files.find(path)
        self._engine = LlamaEngine.load(
            files.gguf.path,
            n_ctx=files.serving.n_ctx if n_ctx is None else n_ctx,
            n_threads=threads.choose(None).n_threads,
            n_gpu_layers=0,
            prefix_streams=8,
        )
        self.facts = self._engine.facts
        self._preparer = Preparer(
            self._engine.vocabulary, n_ctx=self.facts.n_ctx, readout="letters", prompt_version=DIRECT_OPTIONS
        )

    def prepare(self, decision: dict[str, Any]) -> Asked:
        """decision: as in a request's body."""
        prepared = self._preparer.prepare(
            Decision(
                id=decision["id"],
                state=decision["state"],
                question=decision["question"],
                options=tuple(Option(**option) for option in decision["options"]),
                readout=decision.get("readout"),
                prompt_version=decision.get("prompt_version"),
            )
        )
        task = prepared.plan.tasks[0]
        pieces = b"".join(self._engine.vocabulary.piece(token) for token in task.tokens)
        return Asked(
            tokens=task.tokens,
            shared_lengths=task.shared_lengths,
            label_ids=prepared.plan.answer_token_ids,
            text=pieces.decode(),
        )

    def close(self) -> None:
        self._engine.close()

    def ends(self, tokens: Sequence[int], shared_lengths: Sequence[int], start: int) -> tuple[int, ...]:
        """Where the engine's decodes of tokens[start:] end; the last is len(tokens)."""
        task = ScoringTask(tokens=tuple(tokens), shared_lengths=tuple(shared_lengths))
        return self._engine.ends(task, start)

    def _watch_context(self) -> None:
        make = self.api.llama_init_from_model

        def watched(model: Any, parameters: Any) -> Any:
            kept = type(parameters)()
            ctypes.memmove(ctypes.byref(kept), ctypes.byref(parameters), ctypes.sizeof(parameters))
            self.parameters, self.cache_bytes = kept, 0
            return make(model, parameters)

        self.api.llama_init_from_model = watched

    def _watch_self_check(self) -> None:
        run = self_check.run

        def watched(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            proved = run(*arguments, **named)
            self.self_check_seconds += time.perf_counter() - began
            return proved

        self_check.run = watched


class _WatchLog(logging.Handler):
    """Sums what llama.cpp says about the buffers of a context."""

    def __init__(self, side: OwnSide) -> None:
        super().__init__(logging.DEBUG)
        self._side = side
        log = logging.getLogger("llama.cpp")
        log.setLevel(logging.DEBUG)
        log.propagate = False
        log.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        for size in _BUFFER.findall(record.getMessage()):
            self._side.cache_bytes += int(float(size) * 2**20)
