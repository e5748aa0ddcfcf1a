"""What the log says of one request when it has been answered: codes, counts, seconds and shares, never text of it.

A monitoring system plots these fields under the names they have here (stacks/monitoring/server_metrics.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decision_server.choices import LIKELIHOOD
from decision_server.results import BatchTiming, Result
from decision_server.wire.dialects import Dialect

# Never so small that JSON writes 1e-05: CloudWatch's filters do not read that as a number.
_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class LoggedAnswer:
    """An answer's JSON, and what the log says of it."""

    body: bytes
    facts: Mapping[str, object]


@dataclass(kw_only=True)
class RequestLog:
    """Filled in as a request makes its way; what it did not get to is not said.

    queue_depth: requests of decisions waiting or running when it came.
    """

    request_id: str
    queue_depth: int | None = None
    dialect: Dialect | None = None
    decisions: int | None = None

    def facts(
        self, *, status: int, code: str, seconds: float, prefixes: Mapping[str, int], answer: Mapping[str, object]
    ) -> dict[str, object]:
        """prefixes: what became of kept prefixes since the line before. answer: `answer_facts`, or nothing."""
        known = {
            "event": "answered",
            "request_id": self.request_id,
            "status": status,
            "code": code,
            "seconds": round(seconds, _DIGITS),
            "queue_depth": self.queue_depth,
            "dialect": None if self.dialect is None else self.dialect.value,
            "decisions": self.decisions,
        }
        return {name: value for name, value in known.items() if value is not None} | {**answer, **prefixes}


def answer_facts(results: Sequence[Result], timing: BatchTiming) -> dict[str, object]:
    """confidence, confidence_min: the highest probability of each decision, their mean and the least of them.

    allowed_token_mass: its mean over the decisions read from labels. rotation_spread: the widest, where there is one.
    abstained: how many did, where any decision said below what.
    """
    highest = [max(result.probabilities) for result in results]
    masses = [result.allowed_token_mass for result in results if result.readout != LIKELIHOOD]
    spreads = [result.rotation_spread for result in results if result.rotation_spread is not None]
    facts: dict[str, object] = {
        "model": results[0].model.name,
        "readout": "+".join(sorted({result.readout for result in results})),
        "queue_seconds": round(timing.queue_seconds, _DIGITS),
        "encode_seconds": round(timing.encode_seconds, _DIGITS),
        "forward_seconds": round(timing.forward_seconds, _DIGITS),
        "input_tokens": sum(result.input_tokens for result in results),
        "cached_tokens": timing.cached_tokens,
        "confidence": round(_mean(highest), _DIGITS),
        "confidence_min": round(min(highest), _DIGITS),
    }
    if masses:
        facts["allowed_token_mass"] = round(_mean(masses), _DIGITS)
    if thresholds := [result.abstained for result in results if result.abstained is not None]:
        facts["abstained"] = sum(thresholds)
    if spreads:
        facts["rotation_spread"] = round(max(spreads), _DIGITS)
    return facts


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
