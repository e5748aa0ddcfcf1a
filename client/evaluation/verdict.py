"""Whether a run is good enough, and the one line that says so. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from client.evaluation.metrics import Summary


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a run has to keep; None: not asked for. max_p95: in seconds. min_answered: where another limit is asked for
    and this one is not, all must be answered: a limit kept on a part of the set says nothing of the rest.
    """

    min_answered: float | None = None
    min_accuracy: float | None = None
    max_p95: float | None = None
    max_ece: float | None = None


@dataclass(frozen=True, kw_only=True)
class Check:
    """value: None where the run has none, which counts as failed."""

    flag: str
    value: float | None
    limit: float
    passed: bool

    def __str__(self) -> str:
        value = "there is none" if self.value is None else f"{self.value:.4g}"
        return f"{self.flag} {self.limit:g}: {value}"


def checks(summary: Summary, limits: Limits) -> tuple[Check, ...]:
    """Of the values themselves, not of their intervals."""
    accuracy, p95 = summary.whole.accuracy.value, summary.timing.p95
    ece = summary.whole.calibration_error
    found: list[Check] = []
    if (least := limits.min_accuracy) is not None:
        good = accuracy is not None and accuracy >= least
        found.append(Check(flag="--min-accuracy", value=accuracy, limit=least, passed=good))
    for flag, value, most in (("--max-p95", p95, limits.max_p95), ("--max-ece", ece, limits.max_ece)):
        if most is not None:
            found.append(Check(flag=flag, value=value, limit=most, passed=value is not None and value <= most))
    if found or limits.min_answered is not None:
        least, value = 1.0 if limits.min_answered is None else limits.min_answered, summary.whole.validity.value
        good = value is not None and value >= least
        found.append(Check(flag="--min-answered", value=value, limit=least, passed=good))
    return tuple(found)


def line(summary: Summary, found: tuple[Check, ...]) -> str:
    failed = [check for check in found if not check.passed]
    head = f"failed ({'; '.join(map(str, failed))})" if failed else "passed" if found else "done"
    whole = summary.whole
    parts = [f"{whole.validity.count} of {whole.validity.total} answered"]
    if whole.accuracy.value is not None:
        parts.append(f"accuracy {whole.accuracy.value:.1%} ({whole.accuracy.low:.1%} to {whole.accuracy.high:.1%})")
    if whole.calibration_error is not None:
        parts.append(f"ECE {whole.calibration_error:.3f}")
    if summary.timing.p95 is not None:
        parts.append(f"p95 {summary.timing.p95:.3g} s")
    return f"{head}: {', '.join(parts)}"
