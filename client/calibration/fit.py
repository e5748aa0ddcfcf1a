"""Finds the temperature under which right answers are most probable. Pure.

Minimised is the mean negative log-likelihood, −ln p(right option) in nats, over ln T: a temperature is a ratio, and 0.5
lies as far from 1 as 2 does. In 1/T the sum is convex, so that there is one minimum. (Temperature scaling: Guo et al.,
"On Calibration of Modern Neural Networks", 2017.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from client.calibration.scores import Scored

LEAST, MOST = 0.25, 10.0  # what the server reads
DIGITS = 4  # of a temperature, behind the point; further ones say nothing of any model


def nll_of_each(items: Sequence[Scored], temperature: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[items]: −ln p(right option) in nats. temperature: one for all, or float64[items]."""
    gaps = _below_highest(items)
    expected = gaps[np.arange(len(items)), [item.expected for item in items]]
    scaled = gaps / np.reshape(np.asarray(temperature, dtype=np.float64), (-1, 1))
    nll: NDArray[np.float64] = np.log(np.exp(scaled).sum(axis=1)) - expected / temperature
    return nll


def fit_temperature(items: Sequence[Scored]) -> float:
    """In [LEAST, MOST], rounded to DIGITS; a value at either end says that the best one lies beyond it."""
    found = minimize_scalar(
        lambda log_t: float(nll_of_each(items, math.exp(log_t)).mean()),
        bounds=(math.log(LEAST), math.log(MOST)),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return min(MOST, max(LEAST, round(math.exp(float(found.x)), DIGITS)))


def _below_highest(items: Sequence[Scored]) -> NDArray[np.float64]:
    """float64[items, most options]: each score minus its item's highest; −inf where an item has no such option."""
    gaps = np.full((len(items), max(len(item.scores) for item in items)), -np.inf)
    for row, item in zip(gaps, items, strict=True):
        row[: len(item.scores)] = np.asarray(item.scores) - max(item.scores)
    return gaps
