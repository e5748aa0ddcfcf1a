"""Logits and log-probabilities → option scores, a function a readout. numpy only; knows neither model nor request.

A row of n_vocab logits is looked at once, when it arrives (`look`), and not kept: 64 decisions in eight orders would
otherwise hold a third of a gigabyte of them at a vocabulary of 152,000.

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
class Row:
    """What is kept of one row of logits.

    label_logits: of the label tokens that were asked for, in their order. label_mass: their share of the model's
    probability, in [0, 1]; 0 without labels. argmax_id: the token with the highest logit.
    """

    label_logits: tuple[float, ...]
    label_mass: float
    argmax_id: int


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


def look(logits: NDArray[np.float32], label_token_ids: Sequence[int]) -> Row:
    """logits: float32[n_vocab], all finite. label_token_ids: distinct, each in [0, n_vocab); () where no label counts.

    Raises EngineFailure on a logit that is not finite.
    """
    full = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(full).all():
        raise EngineFailure(f"{int((~np.isfinite(full)).sum())} of {full.size} logits are not finite")
    labels = full[np.asarray(label_token_ids, dtype=np.int64)]
    mass = float(np.exp(log_sum_exp(labels) - log_sum_exp(full))) if labels.size else 0.0
    return Row(label_logits=tuple(labels.tolist()), label_mass=min(1.0, mass), argmax_id=int(full.argmax()))


def read_letters(row: Row, *, temperature: float = 1.0) -> Readout:
    """Softmax over the label tokens. row: with a label an option, at least one. temperature: > 0."""
    return Readout(
        probabilities=softmax(row.label_logits, temperature),
        option_logits=row.label_logits,
        allowed_token_mass=row.label_mass,
        full_vocab_argmax_id=row.argmax_id,
    )


def read_rotated(rows: Sequence[Row], orders: Sequence[Sequence[int]], *, temperature: float = 1.0) -> Readout:
    """The mean logit of each option over several orders of listing: what a place adds to a logit then cancels out.

    rows[r]: where option orders[r][place] stood under the label at that place. The mass is the rows' mean, the argmax
    is the first row's.
    """
    reads = [read_letters(row, temperature=temperature) for row in rows]
    options = range(len(orders[0]))
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
    argmax_id: int,
    with_evidence: Sequence[float],
    without: Sequence[float],
    text_of_option: Sequence[int],
    separate_texts: Sequence[int],
    *,
    temperature: float = 1.0,
) -> Readout:
    """Pointwise mutual information: by how much the evidence raised the log-probability of each option's text.

    argmax_id: of the logits where the answer begins. with_evidence, without: natural log-probability of each text.
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
        full_vocab_argmax_id=argmax_id,
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


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
