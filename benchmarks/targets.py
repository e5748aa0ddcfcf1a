"""What this project promises of its speed and exactness, and whether a run's results keep it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Results = Mapping[str, Any]  # of one model, as `run.py` writes them


@dataclass(frozen=True, kw_only=True)
class Target:
    """limit: the largest value allowed, or the smallest where `at_least`. read: the value, or one with its interval,
    out of a model's results; KeyError where it was not measured."""

    text: str
    limit: float
    at_least: bool = False
    unit: str = ""
    read: Callable[[Results], Any]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """value, low, high: None where nothing was measured. met: None then."""

    target: Target
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.target.limit if self.target.at_least else self.value <= self.target.limit

    @property
    def sure(self) -> bool:
        """Whether the whole interval says the same as the value."""
        ends = [end for end in (self.low, self.high) if end is not None]
        return all(
            (end >= self.target.limit if self.target.at_least else end <= self.target.limit) == self.met for end in ends
        )


def judge(target: Target, results: Results) -> Verdict:
    try:
        found = target.read(results)
    except KeyError:
        return Verdict(target=target)
    if isinstance(found, Mapping):
        return Verdict(target=target, value=found["value"], low=found["low"], high=found["high"])
    return Verdict(target=target, value=found)


def _ratio(part: str, name: str) -> Callable[[Results], Any]:
    return lambda results: results["parts"][part]["ratios"][name]


def _seconds(*path: str) -> Callable[[Results], Any]:
    def read(results: Results) -> Any:
        value: Any = results
        for name in path:
            value = value[name]
        return value

    return read


def _unlike(results: Results) -> int:
    return sum(path["differ"] for path in results["exactness"].values())


def _other_statuses(results: Results) -> int:
    return sum(count for status, count in results["callers"]["statuses"].items() if status not in ("200", "503"))


TARGETS = (
    Target(text="single decisions: ours ÷ (a) at our settings", limit=1.04, read=_ratio("single", "ours/limit_own")),
    Target(
        text="single decisions: ours ÷ (a) at llama.cpp's defaults",
        limit=1.12,
        read=_ratio("single", "ours/limit_default"),
    ),
    Target(text="single decisions: (b) ÷ ours", limit=1.3, at_least=True, read=_ratio("single", "fresh/ours")),
    Target(text="8 questions, one state: (b) ÷ ours", limit=3.3, at_least=True, read=_ratio("questions", "fresh/ours")),
    Target(
        text="8 questions, one state: (c) ÷ ours", limit=1.1, at_least=True, read=_ratio("questions", "restored/ours")
    ),
    Target(
        text="8 questions, one state: ours ÷ (a) at our settings",
        limit=1.05,
        read=_ratio("questions", "ours/limit_own"),
    ),
    Target(
        text="the same state in a later request: (c) ÷ ours",
        limit=1.7,
        at_least=True,
        read=_ratio("again", "restored/ours"),
    ),
    Target(
        text="fixed question, criterion-first-v1: (b) ÷ ours",
        limit=4.0,
        at_least=True,
        read=_ratio("criterion-first", "fresh/ours"),
    ),
    Target(text="single decisions: ours ÷ (d)", limit=0.6, read=_ratio("single", "ours/openai")),
    Target(text="logits that differ between paths", limit=0, read=_unlike),
    Target(
        text="(time to ready − self-check) ÷ plain model load",
        limit=1.5,
        read=_seconds("startup", "ready_less_self_check_over_plain"),
    ),
    Target(text="self-check", limit=2.0, unit=" s", read=_seconds("startup", "seconds_p50", "self_check")),
    Target(
        text="peak memory − (model file + KV streams)", limit=150.0, unit=" MB", read=_seconds("memory", "beyond_mb")
    ),
    Target(text="8 callers, queue of 4: answers other than 200 and 503", limit=0, read=_other_statuses),
    Target(text="8 callers: slowest 503", limit=0.1, unit=" s", read=_seconds("callers", "slowest_refusal_seconds")),
    Target(
        text="8 callers: throughput ÷ serial",
        limit=0.97,
        at_least=True,
        read=_seconds("callers", "served_over_serial"),
    ),
    Target(text="8 callers: slowest /ping", limit=0.5, unit=" s", read=_seconds("callers", "slowest_ping_seconds")),
)
