"""How far a counted share can be trusted: what the true one may be, given so many of so many."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv, ndtri  # scipy.stats takes seconds to import

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Share:
    """count of total, with its interval. value, low, high: None where total is 0."""

    count: int
    total: int
    value: float | None
    low: float | None
    high: float | None


def share(count: int, total: int) -> Share:
    """With the Wilson score interval at CONFIDENCE:

    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n), z = 1.96

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). Unlike p ± z·s it
    stays inside 0 to 1 and says something where all or none were right.
    """
    if total == 0:
        return Share(count=0, total=0, value=None, low=None, high=None)
    z, p = float(ndtri((1 + CONFIDENCE) / 2)), count / total
    middle, reach = p + z * z / 2 / total, z * math.sqrt(p * (1 - p) / total + z * z / 4 / total**2)
    low, high = (middle - reach) / (1 + z * z / total), (middle + reach) / (1 + z * z / total)
    # At either end a bound is the share itself; rounding leaves it a little off.
    return Share(count=count, total=total, value=p, low=low if count else 0.0, high=high if count < total else 1.0)


def upper_bound(count: int, total: int, *, doubt: float) -> float:
    """The largest true share under which `count` or fewer of `total` come up with a probability of `doubt` or more.

    The 1 − doubt quantile of Beta(count + 1, total − count): exact, not an approximation. Clopper and Pearson, "The use
    of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934).
    """
    if count >= total:
        return 1.0
    return float(betaincinv(count + 1, total - count, 1 - doubt))
