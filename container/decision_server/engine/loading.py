"""From a GGUF file to a model, a context, and a proof of how that context may be used. Frees all it made on failure."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decision_server.engine import devices, library, self_check
from decision_server.engine.context import Context
from decision_server.engine.layout import CHUNK
from decision_server.engine.reuse import CANDIDATES, Candidate, Reuse, candidates
from decision_server.engine.vocabulary import Vocabulary
from decision_server.model_errors import StartupFailure
from decision_server.scoring import EngineFacts

_log = logging.getLogger(__name__)
_DEFAULT_N_CTX = 4096


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """All that an engine owns. model: the library's handle, to be freed after the context."""

    api: Any
    model: Any
    vocabulary: Vocabulary
    context: Context
    reuse: Reuse
    facts: EngineFacts


@dataclass(frozen=True, kw_only=True)
class OpenModel:
    """A model that is loaded and has no context yet. model: the library's handle. n_ctx: tokens a prompt may have.

    gpu_layers: how many of its layers are on a GPU.
    """

    api: Any
    version: str
    model: Any
    vocabulary: Vocabulary
    n_ctx: int
    gpu_layers: int


def open_model(path: Path, *, n_ctx: int | None, n_gpu_layers: int) -> OpenModel:
    """A verified GGUF → its weights and vocabulary. Raises StartupFailure.

    n_ctx: None for the model's own limit, at most 4096. n_gpu_layers: −1 for all.
    """
    found = library.load()
    api = found.api
    gpus = devices.gpus(api)
    devices.check(n_gpu_layers, gpus)
    parameters = api.llama_model_default_params()
    parameters.n_gpu_layers = n_gpu_layers
    model = api.llama_model_load_from_file(str(path).encode(), parameters)
    if not model:
        raise StartupFailure(f"llama.cpp (llama-cpp-python {found.version}) could not load {path}")
    try:
        if not api.llama_model_has_decoder(model) or api.llama_model_has_encoder(model):
            raise StartupFailure(f"{path} is not a decoder-only model, and no other kind can answer here")
        vocabulary = Vocabulary(api, model)
        size = min(_DEFAULT_N_CTX, vocabulary.n_ctx_train) if n_ctx is None else n_ctx
        if not 1 <= size <= vocabulary.n_ctx_train:
            raise StartupFailure(f"n_ctx: {size} given; this model allows 1 to {vocabulary.n_ctx_train}")
        layers = devices.layers_on_gpu(api, model, n_gpu_layers)
        if layers:
            named = ", ".join(f"{gpu.name} ({gpu.description})" for gpu in gpus)
            _log.info("%d of %d layers go to %s", layers, devices.layers_on_gpu(api, model, -1), named)
    except BaseException:
        api.llama_model_free(model)
        raise
    return OpenModel(api=api, version=found.version, model=model, vocabulary=vocabulary, n_ctx=size, gpu_layers=layers)


def prove(opened: OpenModel, *, n_threads: int, flash_attention: bool | None) -> Loaded:
    """Makes a context and proves how it may be used. Takes ownership of the model: it is freed on failure.

    flash_attention: None for the quickest way that proves exact.
    """
    api, on_gpu = opened.api, opened.gpu_layers > 0
    try:
        chooser = _Chooser(api, opened.model, n_ctx=opened.n_ctx, n_threads=n_threads, on_gpu=on_gpu)
        scores_bytes = 4 * int(api.llama_model_n_head(opened.model)) * CHUNK * opened.n_ctx
        chosen = candidates(on_gpu=on_gpu, scores_bytes=scores_bytes)
        if flash_attention is not None:
            chosen = tuple(one for one in CANDIDATES if one.flash_attention == flash_attention)
        context, reuse, flash = chooser.choose(chosen)
    except BaseException:
        opened.vocabulary.close()
        api.llama_model_free(opened.model)
        raise
    facts = EngineFacts(
        n_vocab=opened.vocabulary.n_tokens,
        n_ctx=opened.n_ctx,
        n_threads=n_threads,
        n_gpu_layers=opened.gpu_layers,
        llama_cpp=f"llama-cpp-python {opened.version}",
        prefix_reuse=f"{reuse.words}; flash attention {'on' if flash else 'off'}",
    )
    return Loaded(api=api, model=opened.model, vocabulary=opened.vocabulary, context=context, reuse=reuse, facts=facts)


class _Chooser:
    """Tries candidates on the model until one proves exact; of contexts, one lives at a time."""

    def __init__(self, api: Any, model: Any, *, n_ctx: int, n_threads: int, on_gpu: bool) -> None:
        self._api = api
        self._model = model
        self._n_ctx = n_ctx
        self._n_threads = n_threads
        self._on_gpu = on_gpu
        self._context: Context | None = None
        self._flash_attention = False

    def choose(self, candidates: tuple[Candidate, ...]) -> tuple[Context, Reuse, bool]:
        """The first candidate that may be reused in some way; the last one, without reuse, where none may."""
        began = time.perf_counter()
        try:
            for candidate in candidates:
                context = self._context_for(candidate)
                reuse = self_check.run(context, candidate.layout, self._n_ctx)
                if reuse.cuttable or reuse.copies:
                    break
            else:
                _log.warning("self-check: no way of reusing a prefix is exact; every prompt is computed whole")
        except BaseException:
            if self._context is not None:
                self._context.close()
            raise
        _log.info("self-check: %.2f s: %s", time.perf_counter() - began, reuse.words)
        return context, reuse, self._flash_attention

    def _context_for(self, candidate: Candidate) -> Context:
        if self._context is not None and self._flash_attention != candidate.flash_attention:
            self._context.close()
            self._context = None
        if self._context is None:
            self._flash_attention = candidate.flash_attention
            self._context = Context(
                self._api,
                self._model,
                n_ctx=self._n_ctx,
                n_threads=self._n_threads,
                on_gpu=self._on_gpu,
                flash_attention=candidate.flash_attention,
            )
        return self._context
