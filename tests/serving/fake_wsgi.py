"""The server's own app, scheduler and service around a fake engine, for faults that no real model can be asked to have.

A decision's question says what scoring it does: `work 500` takes 500 ms, `die` makes the engine raise. The file that
FAKE_LOAD names holds loading back until it exists; FAKE_LOAD_ERROR makes loading fail.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from decision_server import config as settings
from decision_server.app import create_app
from decision_server.decisions import Decision
from decision_server.lifecycle import Lifecycle, State
from decision_server.metrics import Metrics
from decision_server.plans import Letters
from decision_server.preparation import Prepared
from decision_server.results import Gguf, Model
from decision_server.scheduler import Scheduler
from decision_server.scoring import ScoringTask
from decision_server.service import DecisionService
from tests.serving.fake_engine import FakeEngine

_DIE = 30


class FakePreparer:
    """Encodes what the question says as tokens."""

    def prepare(self, decision: Decision) -> Prepared:
        word, _, number = str(decision.question).partition(" ")
        token = _DIE if word == "die" else 1
        tokens = (token, *[2] * int(number or 0))
        return Prepared(
            plan=Letters(task=ScoringTask(tokens=tokens), answer_token_ids=(1, 2)),
            prompt_sha256="0" * 64,
            prompt_version="fake",
            readout="letters",
        )


def work(task: ScoringTask) -> None:
    if task.tokens[0] == _DIE:
        raise RuntimeError("the fake engine was told to die")
    time.sleep((len(task.tokens) - 1) / 1000)


def assemble(on_failure: Callable[[Exception], None]) -> DecisionService:
    if "FAKE_LOAD_ERROR" in os.environ:
        raise RuntimeError(os.environ["FAKE_LOAD_ERROR"])
    while "FAKE_LOAD" in os.environ and not Path(os.environ["FAKE_LOAD"]).exists():
        time.sleep(0.01)
    scheduler = Scheduler(FakeEngine(work), queue_size=config.queue_size, observe=metrics.scored, on_failure=on_failure)
    metrics.watch(
        ready=lambda: lifecycle.state is State.READY,
        queue_depth=lambda: scheduler.admitted,
        queue_limit=1 + config.queue_size,
        chats=lambda: scheduler.admitted_chats,
        chats_limit=scheduler.chat_limit,
        tokens_per_second=lambda: scheduler.tokens_per_second,
    )
    scheduler.start()
    model = Model(
        name="fake",
        gguf=Gguf(file="fake.gguf", bytes=1, sha256="0" * 64),
        repo=None,
        revision=None,
        llama_cpp="fake",
        n_ctx=4096,
        n_threads=1,
        n_gpu_layers=0,
        prefix_reuse="none",
    )
    return DecisionService(FakePreparer(), scheduler, model=model, metrics=metrics)


config = settings.load(os.environ)
metrics = Metrics()
lifecycle = Lifecycle(assemble)
app = create_app(config, lifecycle, metrics)
