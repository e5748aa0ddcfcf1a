"""What is known of an answered decision, whatever dialect says it: scores, what they were made from, and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Gguf:
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Model:
    """What answered: the archive's facts and what the engine really runs with."""

    name: str
    gguf: Gguf
    repo: str | None
    revision: str | None
    llama_cpp: str
    n_ctx: int
    n_threads: int
    n_gpu_layers: int
    prefix_reuse: str


@dataclass(frozen=True, kw_only=True)
class CalibrationUsed:
    """status: `applied` or `none`. temperature: what the scores were divided by before the softmax."""

    status: str
    version: str | None
    temperature: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Of one decision; what is counted for one of several tasks: timings.py.

    queue_seconds: from its request's submission until the engine took the first of its tasks.
    """

    queue_seconds: float
    encode_seconds: float
    forward_seconds: float
    total_seconds: float
    cached_tokens: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """One decision's answer, in the order of its request's options. Fields stand in the contract's order.

    rotation_spread: written only where the readout has one. abstained: only where the decision said below what.
    """

    id: str
    option_ids: Sequence[str]
    probabilities: Sequence[float]
    option_logits: Sequence[float]
    answer_token_ids: Sequence[int]
    input_tokens: int
    allowed_token_mass: float
    full_vocab_argmax_id: int
    prompt_sha256: str
    prompt_version: str
    readout: str
    probability_status: str
    calibration: CalibrationUsed
    warnings: Sequence[str]
    model: Model
    timing: Timing
    rotation_spread: float | None = None
    abstained: bool | None = None


@dataclass(frozen=True, kw_only=True)
class BatchTiming:
    """Of several decisions. prefill_seconds and suffix_forward_seconds add up to forward_seconds.

    prefix_tokens: of the prefixes, each counted once. true_suffix_tokens: of all that stands behind them.
    cached_tokens: of all decisions.
    """

    queue_seconds: float
    encode_seconds: float
    forward_seconds: float
    total_seconds: float
    batch_size: int
    prefix_tokens: int
    prefill_seconds: float
    suffix_forward_seconds: float
    true_suffix_tokens: int
    cached_tokens: int
