"""Several callers at once against a short queue: what each call was answered, how soon a refusal came, what was served.

A refused caller waits as long as the refusal says. Serial throughput, one caller alone, is measured before and after.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from benchmarks.processes import Caller

CALLERS = 8
QUEUE = 4
_PING_EVERY = 0.05


@dataclass
class Tally:
    """What one caller met. statuses: by status, `lost` for a call without an answer."""

    statuses: Counter[str] = field(default_factory=Counter)
    slowest_refusal: float = 0.0
    slowest_answer: float = 0.0

    def count(self, status: int, seconds: float) -> None:
        self.statuses[str(status)] += 1
        if status == 200:
            self.slowest_answer = max(self.slowest_answer, seconds)
        else:
            self.slowest_refusal = max(self.slowest_refusal, seconds)


def measure(port: int, bodies: Iterator[dict[str, Any]], *, seconds: float) -> dict[str, Any]:
    """bodies: endless, each with a state that nobody has seen."""
    lock = threading.Lock()

    def body() -> dict[str, Any]:
        with lock:
            return next(bodies)

    serial_seconds = seconds / 5
    _ask_until(port, body, 1.0)
    serial = [_rate(port, body, 1, serial_seconds)]
    stop, ping_seconds = threading.Event(), [0.0]
    pings = threading.Thread(target=_ping, args=(port, stop, ping_seconds))
    pings.start()
    try:
        together, tallies = _timed(port, body, CALLERS, seconds)
    finally:
        stop.set()
        pings.join()
    serial.append(_rate(port, body, 1, serial_seconds))
    statuses = sum((tally.statuses for tally in tallies), Counter())
    return {
        "callers": CALLERS,
        "queue": QUEUE,
        "seconds": seconds,
        "statuses": dict(statuses),
        "slowest_refusal_seconds": max(tally.slowest_refusal for tally in tallies),
        "slowest_answer_seconds": max(tally.slowest_answer for tally in tallies),
        "slowest_ping_seconds": max(ping_seconds),
        "pings": len(ping_seconds),
        "served_per_second": together,
        "serial_per_second": serial,
        "served_over_serial": together / (sum(serial) / len(serial)),
    }


def _rate(port: int, body: Any, callers: int, seconds: float) -> float:
    return _timed(port, body, callers, seconds)[0]


def _timed(port: int, body: Any, callers: int, seconds: float) -> tuple[float, list[Tally]]:
    """Answers a second, until the last answer of those asked in time."""
    began = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        tallies = list(pool.map(lambda _: _ask_until(port, body, seconds), range(callers)))
    taken = time.perf_counter() - began
    return sum(tally.statuses["200"] for tally in tallies) / taken, tallies


def _ask_until(port: int, body: Any, seconds: float) -> Tally:
    tally = Tally()
    until = time.perf_counter() + seconds
    with closing(Caller(port)) as caller:
        while time.perf_counter() < until:
            try:
                reply = caller.post("/invocations", body())
            except OSError:
                tally.statuses["lost"] += 1
                continue
            tally.count(reply.status, reply.seconds)
            if reply.status == 503:
                wait = float(json.loads(reply.body)["retry_after_seconds"])
                time.sleep(max(0.0, min(wait, until - time.perf_counter())))
    return tally


def _ping(port: int, stop: threading.Event, seconds: list[float]) -> None:
    """A ping that is not answered 200 counts as one that took a minute."""
    with closing(Caller(port)) as caller:
        while not stop.wait(_PING_EVERY):
            reply = caller.get("/ping")
            seconds.append(reply.seconds if reply.status == 200 else 60.0)
