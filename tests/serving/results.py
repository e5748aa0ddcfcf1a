"""Results that no model computed, for tests of what dialects make of them."""

from __future__ import annotations

from typing import Any

from decision_server.decisions import Decision
from decision_server.results import BatchTiming, CalibrationUsed, Gguf, Model, Result, Timing

MODEL = Model(
    name="tiny", gguf=Gguf(file="f", bytes=1, sha256="b" * 64), repo=None, revision=None, llama_cpp="x", n_ctx=1,
    n_threads=1, n_gpu_layers=0, prefix_reuse="none",
)  # fmt: skip
NO_TIME = BatchTiming(
    queue_seconds=0, encode_seconds=0, forward_seconds=0, total_seconds=0, batch_size=3, prefix_tokens=0,
    prefill_seconds=0, suffix_forward_seconds=0, true_suffix_tokens=0, cached_tokens=5,
)  # fmt: skip


def result(decision: Decision, probabilities: list[float], **changes: Any) -> Result:
    values: dict[str, Any] = {
        "id": decision.id,
        "option_ids": tuple(option.id for option in decision.options),
        "probabilities": tuple(probabilities),
        "option_logits": (0.0,) * len(probabilities),
        "answer_token_ids": (1,) * len(probabilities),
        "input_tokens": 10,
        "allowed_token_mass": 0.75,
        "full_vocab_argmax_id": 3,
        "prompt_sha256": "a" * 64,
        "prompt_version": "direct-options-v1",
        "readout": "letters",
        "probability_status": "uncalibrated",
        "calibration": CalibrationUsed(status="none", version=None, temperature=1.0),
        "warnings": (),
        "model": MODEL,
        "timing": Timing(queue_seconds=0, encode_seconds=0, forward_seconds=0, total_seconds=0, cached_tokens=0),
    }
    return Result(**values | changes)
