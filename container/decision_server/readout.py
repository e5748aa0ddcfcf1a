"""Logits → option scores, for the letters readout. numpy only; knows neither the model nor the request.

All sums are taken in float64 with the maximum shifted out, so finite logits of any size give finite probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_server.model_errors import EngineFailure


@dataclass(frozen=True, kw_only=True)
class Readout:
    """The scores of one decision, all in the order of its options.

    probabilities: sum to 1 within 1e-9 (contract 3.8).
    option_logits: what the model gave the label tokens, unnormalised.
    allowed_token_mass: share of the full vocabulary's probability that lies on the label tokens, in [0, 1].
    full_vocab_argmax_id: the token that the model itself would have said.
    """

    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...]
    allowed_token_mass: float
    full_vocab_argmax_id: int


def read_letters(logits: NDArray[np.float32], label_token_ids: Sequence[int], *, temperature: float = 1.0) -> Readout:
    """Softmax over the label tokens.

    logits: float32[n_vocab], all finite. label_token_ids: distinct, each in [0, n_vocab).
    temperature: divides the label logits of `probabilities`; > 0. Raises EngineFailure on a logit that is not finite.
    """
    full = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(full).all():
        raise EngineFailure(f"{int((~np.isfinite(full)).sum())} of {full.size} logits are not finite")
    labels = full[np.asarray(label_token_ids, dtype=np.int64)]
    return Readout(
        probabilities=tuple(softmax(labels / temperature).tolist()),
        option_logits=tuple(labels.tolist()),
        allowed_token_mass=min(1.0, float(np.exp(log_sum_exp(labels) - log_sum_exp(full)))),
        full_vocab_argmax_id=int(full.argmax()),
    )


def softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n] finite → float64[n], sums to 1."""
    shifted = np.exp(values - values.max())
    return np.asarray(shifted / shifted.sum(), dtype=np.float64)


def log_sum_exp(values: NDArray[np.float64]) -> float:
    """float64[n] finite, n ≥ 1 → ln Σ exp, finite."""
    highest = values.max()
    return float(highest + np.log(np.exp(values - highest).sum()))
