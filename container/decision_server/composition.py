"""The composition root: settings → parts. No Flask: the model loads while Python imports that (wsgi.py).

Nothing is loaded on import: `assemble` runs in the worker, on the lifecycle's thread, after the port is bound; it
needs what `opening.begin` was asked for.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from decision_server import calibration, choices, opening, threads
from decision_server import config as settings
from decision_server.chat_prompts import ChatPrompts
from decision_server.chat_service import ChatService
from decision_server.decisions import Decision, Option
from decision_server.engine import LlamaEngine, prove
from decision_server.lifecycle import Lifecycle, State
from decision_server.metrics import Metrics
from decision_server.preparation import Preparer
from decision_server.results import Gguf, Model
from decision_server.scheduler import Scheduler
from decision_server.service import DecisionService
from decision_server.wire.decision_bodies import OneDecision

_log = logging.getLogger(__name__)
_WARM_UP = Decision(
    id="warm-up",
    state="The server has just started.",
    question="Is the server ready?",
    options=(Option(id="yes", description="It is ready."), Option(id="no", description="It is not ready.")),
)
_WARM_UP_SECONDS = 600.0
_CHAT_N_CTX = 2048  # tokens of a chat where the settings leave it open


def assemble(on_failure: Callable[[Exception], None]) -> DecisionService:
    """Files → engine → service, with one decision scored. Raises StartupFailure and whatever a broken engine raises."""
    opened = opening.opened()
    files, weights = opened.files, opened.model
    proposed = choices.Choice(readout=files.serving.readout, prompt_version=files.serving.prompt_version)
    serves = choices.at_start(proposed, readout=config.readout, prompt_version=config.prompt_version)
    fitted = None
    if files.calibration is not None:
        fitted = calibration.read(files.calibration.read_bytes(), gguf_sha256=files.gguf.sha256, serves=serves)
    choice = threads.choose(config.n_threads)
    _log.info("threads chosen", extra={"facts": {"n_threads": choice.n_threads, "reason": choice.reason}})
    # The self-check computes for a second or more and needs no Python; the labels are verified meanwhile.
    with ThreadPoolExecutor(1, thread_name_prefix="labels") as beside:
        preparing = beside.submit(
            Preparer,
            weights.vocabulary,
            n_ctx=weights.n_ctx,
            readout=serves.readout,
            prompt_version=serves.prompt_version,
        )
        loaded = prove(weights, n_threads=choice.n_threads, flash_attention=None)
    engine = LlamaEngine(loaded, config.prefix_streams)
    preparer = preparing.result()
    facts = engine.facts
    chat_n_ctx = min(_CHAT_N_CTX, engine.vocabulary.n_ctx_train) if config.chat_n_ctx is None else config.chat_n_ctx
    chat_engine = engine.open_chats(n_ctx=chat_n_ctx, slots=config.chat_slots) if chat_n_ctx else None
    scheduler = Scheduler(
        engine, queue_size=config.queue_size, observe=metrics.scored, on_failure=on_failure, chats=chat_engine
    )
    chats = None
    if chat_engine is not None:
        chats = ChatService(
            ChatPrompts(engine.vocabulary),
            scheduler,
            n_ctx=chat_engine.n_ctx,
            fingerprint=f"{files.gguf.sha256[:16]}-{facts.llama_cpp.replace(' ', '-')}",
            metrics=metrics,
        )
    gguf = Gguf(file=files.gguf.file, bytes=files.gguf.bytes, sha256=files.gguf.sha256)
    model = Model(
        name=files.name,
        gguf=gguf,
        repo=files.repo,
        revision=files.revision,
        llama_cpp=facts.llama_cpp,
        n_ctx=facts.n_ctx,
        n_threads=facts.n_threads,
        n_gpu_layers=facts.n_gpu_layers,
        prefix_reuse=facts.prefix_reuse,
    )
    metrics.describe_engine({"model": files.name, "gguf_sha256": files.gguf.sha256, **asdict(facts)})
    metrics.watch(
        ready=lambda: lifecycle.state is State.READY,
        queue_depth=lambda: scheduler.admitted,
        queue_limit=1 + config.queue_size,
        chats=lambda: scheduler.admitted_chats,
        chats_limit=scheduler.chat_limit,
        tokens_per_second=lambda: scheduler.tokens_per_second,
    )
    metrics.watch_prefixes(engine.counters)
    service = DecisionService(
        preparer,
        scheduler,
        model=model,
        metrics=metrics,
        calibration=fitted,
        aliases=config.model_aliases,
        chats=chats,
    )
    scheduler.start()
    _warm_up(service)
    return service


def _warm_up(service: DecisionService) -> None:
    """Scores one decision, so that the first caller meets warm pages and the scheduler knows the engine's rate."""
    now = time.monotonic()
    service.answer(OneDecision(decision=_WARM_UP), received=now, deadline=now + _WARM_UP_SECONDS, gone=lambda: False)


config = settings.load(os.environ)
metrics = Metrics()
lifecycle = Lifecycle(assemble)
