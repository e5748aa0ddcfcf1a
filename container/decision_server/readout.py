"""Logits and log-probabilities → option scores, a function a readout. numpy only; knows neither model nor request.

All sums are taken in float64 with the maximum shifted out, so finite logits of any size give finite probabilities. Sums
over options or rotations are rounded once (math.fsum), so their order changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_server.model_errors import EngineFailure


@dataclass(frozen=True, kw_only=True)
class Readout:
    """The scores of one decision, all in the order of its options.

    probabilities: softmax(option_logits / temperature); sum to 1 within 1e-9 (contract 3.8).
    option_logits: unnormalised scores in natural log units: the logits of the label tokens, their mean over rotations,
        or the pointwise mutual information of text and evidence.
    allowed_token_mass: share of the model's probability that lies on the options' labels or texts, in [0, 1].
    full_vocab_argmax_id: the token that the model itself would have said first.
    rotation_spread: by how much the order of the options changed the probability of one of them at most, in [0, 1];
        None for readouts that ask for one order.
    """

    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...]
    allowed_token_mass: float
    full_vocab_argmax_id: int
    rotation_spread: float | None = None


def read_letters(logits: NDArray[np.float32], label_token_ids: Sequence[int], *, temperature: float = 1.0) -> Readout:
    """Softmax over the label tokens.

    logits: float32[n_vocab], all finite. label_token_ids: distinct, each in [0, n_vocab). temperature: > 0.
    Raises EngineFailure on a logit that is not finite.
    """
    full = _finite(logits)
    labels = full[np.asarray(label_token_ids, dtype=np.int64)]
    option_logits = tuple(labels.tolist())
    return Readout(
        probabilities=softmax(option_logits, temperature),
        option_logits=option_logits,
        allowed_token_mass=min(1.0, float(np.exp(log_sum_exp(labels) - log_sum_exp(full)))),
        full_vocab_argmax_id=int(full.argmax()),
    )


def read_rotated(
    rows: Sequence[NDArray[np.float32]],
    orders: Sequence[Sequence[int]],
    label_token_ids: Sequence[int],
    *,
    temperature: float = 1.0,
) -> Readout:
    """The mean logit of each option over several orders of listing: what a place adds to a logit then cancels out.

    rows[r]: the logits where option orders[r][place] stood under label_token_ids[place]. The mass is the rows' mean,
    the argmax is the first row's. Raises EngineFailure on a logit that is not finite.
    """
    reads = [read_letters(row, label_token_ids, temperature=temperature) for row in rows]
    options = range(len(label_token_ids))
    places = [{option: place for place, option in enumerate(order)} for order in orders]
    option_logits = tuple(
        _mean([read.option_logits[place[option]] for read, place in zip(reads, places, strict=True)])
        for option in options
    )
    seen = [
        [read.probabilities[place[option]] for read, place in zip(reads, places, strict=True)] for option in options
    ]
    return Readout(
        probabilities=softmax(option_logits, temperature),
        option_logits=option_logits,
        allowed_token_mass=_mean([read.allowed_token_mass for read in reads]),
        full_vocab_argmax_id=reads[0].full_vocab_argmax_id,
        rotation_spread=max(max(one) - min(one) for one in seen),
    )


def read_likelihood(
    logits: NDArray[np.float32],
    with_evidence: Sequence[float],
    without: Sequence[float],
    text_of_option: Sequence[int],
    separate_texts: Sequence[int],
    *,
    temperature: float = 1.0,
) -> Readout:
    """Pointwise mutual information: by how much the evidence raised the log-probability of each option's text.

    logits: float32[n_vocab] where the answer begins. with_evidence, without: natural log-probability of each text.
    text_of_option[o]: which text option o has. separate_texts: texts of which none begins with another one, so that
    their probabilities may be added. Raises EngineFailure on a number that is not finite.
    """
    if not all(map(math.isfinite, (*with_evidence, *without))):
        raise EngineFailure("a log-probability of an option's text is not finite")
    option_logits = tuple(with_evidence[text] - without[text] for text in text_of_option)
    return Readout(
        probabilities=softmax(option_logits, temperature),
        option_logits=option_logits,
        allowed_token_mass=min(1.0, math.fsum(math.exp(with_evidence[text]) for text in separate_texts)),
        full_vocab_argmax_id=int(_finite(logits).argmax()),
    )


def softmax(scores: Sequence[float], temperature: float = 1.0) -> tuple[float, ...]:
    """Finite scores, natural log units → probabilities. Equal scores get equal ones, in whatever order they stand."""
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def log_sum_exp(values: NDArray[np.float64]) -> float:
    """float64[n] finite, n ≥ 1 → ln Σ exp, finite."""
    highest = values.max()
    return float(highest + np.log(np.exp(values - highest).sum()))


def _finite(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    full = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(full).all():
        raise EngineFailure(f"{int((~np.isfinite(full)).sum())} of {full.size} logits are not finite")
    return full


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
