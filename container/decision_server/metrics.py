"""What the server counts about itself, as Prometheus text (contract 1.4). One process, so one registry."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from decision_server.scoring import PrefixCounters, Score

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0)


class _Prefixes(Collector):
    """Numbers that the engine counts, under names and units of this module."""

    def __init__(self, counters: PrefixCounters) -> None:
        self._counters = counters

    def collect(self) -> Iterator[Metric]:
        counters = self._counters
        lookups = CounterMetricFamily(
            "decision_prefix_lookups",
            "Questions by how much of what they share with others was found computed",
            labels=["found"],
        )
        for found, count in (("all", counters.hits), ("some", counters.partial_hits), ("none", counters.misses)):
            lookups.add_metric([found], count)
        yield lookups
        yield CounterMetricFamily(
            "decision_prefix_evictions", "Kept prefixes given up for newer ones", value=counters.evictions
        )
        yield GaugeMetricFamily(
            "decision_kept_prefixes", "Prefixes kept as copies in memory", value=counters.kept_prefixes
        )
        yield GaugeMetricFamily("decision_kept_prefix_bytes", "What these copies take", value=counters.kept_bytes)


def _counted(counters: PrefixCounters) -> dict[str, int]:
    return {
        "prefix_hits": counters.hits,
        "prefix_partial_hits": counters.partial_hits,
        "prefix_misses": counters.misses,
        "prefix_evictions": counters.evictions,
    }


class Metrics:
    """Callers say what happened; the names and units are here."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # a second series for each counter, which nobody asked for
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "decision_requests",
            "Requests to the scoring routes by status and error code",
            ["status", "code"],
            registry=registry,
        )
        self._request_seconds = Histogram(
            "decision_request_seconds",
            "Wall time of scoring requests, body read to answer",
            registry=registry,
            buckets=_SECONDS,
        )
        self._decisions = Counter("decision_decisions", "Decisions answered", registry=registry)
        self._evaluated = Counter("decision_evaluated_tokens", "Tokens the engine computed", registry=registry)
        self._cached = Counter("decision_cached_tokens", "Tokens taken from kept prefixes", registry=registry)
        self._forward = Histogram(
            "decision_forward_seconds", "Engine time of one question", registry=registry, buckets=_SECONDS
        )
        self._low_mass = Counter(
            "decision_low_mass_answers",
            "Answers with less than half of the probability on the labels",
            registry=registry,
        )
        self._abstained = Counter(
            "decision_abstentions",
            "Answers whose largest probability is less than their decision's abstain_below",
            registry=registry,
        )
        self._chat_prompt = Counter("decision_chat_prompt_tokens", "Tokens of chats' prompts", registry=registry)
        self._chat_said = Counter("decision_chat_answer_tokens", "Tokens written for chats", registry=registry)
        self._ready = Gauge("decision_ready", "1 while decisions are answered", registry=registry)
        self._queue = Gauge("decision_queue_depth", "Requests of decisions waiting or running", registry=registry)
        self._queue_limit = Gauge(
            "decision_queue_limit", "Requests of decisions that may wait or run", registry=registry
        )
        self._chats = Gauge("decision_chats", "Chats waiting or under way", registry=registry)
        self._chats_limit = Gauge("decision_chats_limit", "Chats that may wait or be under way", registry=registry)
        self._rate = Gauge(
            "decision_tokens_per_second", "Measured rate of evaluation, recent work first", registry=registry
        )
        self._engine = Info("decision_engine", "What the engine runs with", registry=registry)
        self._prefixes: PrefixCounters | None = None
        self._told_lock = threading.Lock()
        self._told: dict[str, int] = {}

    def watch(
        self,
        *,
        ready: Callable[[], bool],
        queue_depth: Callable[[], int],
        queue_limit: int,
        chats: Callable[[], int],
        chats_limit: int,
        tokens_per_second: Callable[[], float | None],
    ) -> None:
        """Gives the gauges their sources. They are asked when metrics are read, so they must take no lock."""
        self._ready.set_function(lambda: float(ready()))
        self._queue.set_function(lambda: float(queue_depth()))
        self._queue_limit.set(queue_limit)
        self._chats.set_function(lambda: float(chats()))
        self._chats_limit.set(chats_limit)
        self._rate.set_function(lambda: tokens_per_second() or 0.0)

    def watch_prefixes(self, counters: PrefixCounters) -> None:
        """Reads the engine's own counters whenever metrics are read."""
        self._registry.register(_Prefixes(counters))
        self._prefixes = counters

    def prefix_changes(self) -> dict[str, int]:
        """What became of kept prefixes since the last call: added up over calls and servers, each counts once."""
        with self._told_lock:
            if self._prefixes is None:
                return {}
            now = _counted(self._prefixes)
            changes = {name: count - self._told.get(name, 0) for name, count in now.items()}
            self._told = now
            return changes

    def describe_engine(self, facts: Mapping[str, object]) -> None:
        self._engine.info({name: str(value) for name, value in facts.items()})

    def answered(self, status: int, code: str, seconds: float) -> None:
        self._requests.labels(status=str(status), code=code).inc()
        self._request_seconds.observe(seconds)

    def decided(self, decisions: int, low_mass: int, abstained: int) -> None:
        self._decisions.inc(decisions)
        self._low_mass.inc(low_mass)
        self._abstained.inc(abstained)

    def said(self, prompt_tokens: int, answer_tokens: int) -> None:
        self._chat_prompt.inc(prompt_tokens)
        self._chat_said.inc(answer_tokens)

    def scored(self, score: Score) -> None:
        self._evaluated.inc(score.evaluated_tokens + score.answer_rows)
        self._cached.inc(score.cached_tokens)
        self._forward.observe(score.forward_seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)
