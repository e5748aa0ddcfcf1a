"""Whether "90 % sure" is right nine times in ten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from client.evaluation.asked import Answered
from client.evaluation.intervals import Share, share

BINS = 10


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Answers whose top probability lies in (low, high]. mean: of those probabilities; None where there are none."""

    low: float
    high: float
    mean: float | None
    right: Share


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """error: the expected calibration error, None where nothing was answered."""

    error: float | None
    bins: tuple[Bin, ...]


def reliability(pairs: Sequence[Answered]) -> Reliability:
    """ECE = Σ_b (n_b / n) · |accuracy_b − confidence_b| over BINS bins of equal width, confidence being the probability
    of the answer given.

    Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", ICML 2017. It falls as bins are joined
    and grows by chance where they hold few answers: compare it on the same set only.
    """
    tops = np.array([pair.given.top_probability for pair in pairs])
    rights = np.array([pair.right for pair in pairs], dtype=bool)
    places = np.clip(np.ceil(tops * BINS).astype(int) - 1, 0, BINS - 1)
    bins = tuple(_bin(index, tops[places == index], rights[places == index]) for index in range(BINS))
    if not pairs:
        return Reliability(error=None, bins=bins)
    gaps = (each.right.total * abs((each.right.value or 0.0) - each.mean) for each in bins if each.mean is not None)
    return Reliability(error=sum(gaps) / len(pairs), bins=bins)


def _bin(index: int, tops: np.ndarray, rights: np.ndarray) -> Bin:
    return Bin(
        low=index / BINS,
        high=(index + 1) / BINS,
        mean=float(np.mean(tops)) if len(tops) else None,
        right=share(int(np.sum(rights)), len(tops)),
    )
