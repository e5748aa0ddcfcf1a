"""What the tests of the model side share: a way to load a real engine, and decisions to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import ascii_lowercase

from decision_server.decisions import Decision, JsonValue, Option
from decision_server.engine import LlamaEngine
from decision_server.preparation import Preparer

RESET_STATE = "Customer asks to reset a forgotten password and says the reset email never arrived."
QUEUES = ("Account access and authentication support.", "Billing and payment support.", "Sales and product evaluation.")


@contextmanager
def loaded(
    path: Path, *, n_ctx: int | None = 1024, prefix_streams: int = 4, flash_attention: bool | None = None
) -> Iterator[LlamaEngine]:
    engine = LlamaEngine.load(
        path,
        n_ctx=n_ctx,
        n_threads=1,
        n_gpu_layers=0,
        prefix_streams=prefix_streams,
        flash_attention=flash_attention,
    )
    try:
        yield engine
    finally:
        engine.close()


def preparer(engine: LlamaEngine, *, n_ctx: int | None = None) -> Preparer:
    return Preparer(
        engine.vocabulary, n_ctx=n_ctx or engine.facts.n_ctx, readout="letters", prompt_version="direct-options-v1"
    )


def decision(
    state: str | Sequence[JsonValue] | dict[str, JsonValue] = RESET_STATE,
    question: str = "Which queue should handle this request?",
    descriptions: Sequence[str] = QUEUES,
    *,
    prompt_version: str | None = None,
    readout: str | None = None,
) -> Decision:
    ids = [first + second for first in ascii_lowercase for second in ascii_lowercase]
    return Decision(
        id="d",
        state=state,
        question=question,
        options=tuple(Option(id=ids[i], description=text) for i, text in enumerate(descriptions)),
        prompt_version=prompt_version,
        readout=readout,
    )
