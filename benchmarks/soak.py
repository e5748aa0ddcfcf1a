"""Thousands of mixed requests against one server, its memory sampled: `python -m benchmarks.soak [--count 10000]`.

The mixture has what keeps or frees memory in different ways: new states and known ones, several questions, every
readout, both prompt versions, refusals, callers that hang up. Growth is the slope of a straight line through the
samples of the last four fifths; the first fifth fills caches.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine, texts
from benchmarks.processes import Caller, OwnServer
from benchmarks.ratios import slope

SAMPLES = 200
_ALLOWED_GROWTH = 5e6  # bytes in the whole of a run of 10,000, told apart from noise by the fit
Body = dict[str, Any]


@dataclass
class Report:
    """samples: (requests answered, bytes held) of the worker. surprises: statuses that a body should not have had."""

    samples: list[tuple[int, int]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def growth_per_request(self) -> float:
        """Bytes."""
        first = self.samples[-1][0] / 5
        return slope([(count, held) for count, held in self.samples if count >= first])


def soak(port: int, worker_pid: int, *, count: int, seed: int, say: Callable[[str], None] = lambda _: None) -> Report:
    """Sends `count` requests one after the other, a new connection now and then."""
    report, drawn = Report(), random.Random(seed)
    known = [_state(drawn) for _ in range(20)]
    every = max(1, count // SAMPLES)
    began = time.monotonic()
    caller = Caller(port)
    for number in range(count):
        if drawn.random() < 0.02:
            caller.close()
            caller = Caller(port)
        name, body, expected = drawn.choice(_MIXTURE)(drawn, known)
        reply = caller.post("/invocations", body)
        report.statuses[reply.status] += 1
        if reply.status != expected:
            report.surprises.append(
                f"request {number}, {name}: {reply.status} instead of {expected}: {reply.body[:200]!r}"
            )
        if number % 50 == 0:
            caller.get("/metrics")
            _hang_up(port, body)
        if (number + 1) % every == 0:
            report.samples.append((number + 1, machine.memory_now(worker_pid)))
        if (number + 1) % max(1, count // 10) == 0:
            say(f"{number + 1} of {count}, {machine.memory_now(worker_pid) / 1e6:.1f} MB")
    caller.close()
    report.seconds = time.monotonic() - began
    return report


def _hang_up(port: int, body: Body) -> None:
    """Asks and does not wait for the answer."""
    with closing(Caller(port)) as caller:
        caller.send_only("/invocations", body)


Made = tuple[str, Body, int]
Make = Callable[[random.Random, list[str]], Made]


def _state(drawn: random.Random) -> str:
    return " ".join(texts.sentence(drawn) for _ in range(drawn.randint(1, 4)))


def _new(drawn: random.Random, known: list[str]) -> Made:
    return "a new state", {"decision": texts.decision(drawn, "d", _state(drawn))}, 200


def _known(drawn: random.Random, known: list[str]) -> Made:
    return "a known state", {"decision": texts.decision(drawn, "d", drawn.choice(known))}, 200


def _several(drawn: random.Random, known: list[str]) -> Made:
    states = [drawn.choice(known), _state(drawn)]
    asked = [texts.decision(drawn, f"q{number}", drawn.choice(states)) for number in range(drawn.randint(2, 6))]
    return "several questions", {"decisions": asked}, 200


def _readout(drawn: random.Random, known: list[str]) -> Made:
    readout = drawn.choice(("letters", "likelihood", "letters-rotated"))
    return readout, {"decision": texts.decision(drawn, "d", drawn.choice(known)) | {"readout": readout}}, 200


def _criterion_first(drawn: random.Random, known: list[str]) -> Made:
    asked = texts.decision(drawn, "d", _state(drawn), question="Which team should handle this?")
    return "criterion first", {"decision": asked | {"prompt_version": "criterion-first-v1"}}, 200


def _refused(drawn: random.Random, known: list[str]) -> Made:
    asked = texts.decision(drawn, "d", _state(drawn), options=1)
    return "one option", {"decision": asked}, 400


def _too_long(drawn: random.Random, known: list[str]) -> Made:
    return "over the context", {"decision": texts.decision(drawn, "d", "word " * 20_000)}, 413


_MIXTURE: tuple[Make, ...] = (_new, _new, _known, _known, _several, _readout, _criterion_first, _refused, _too_long)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="a .gguf file; default: a tiny one with random weights")
    given = parser.parse_args()
    if given.count < 100:
        parser.error(f"--count: {given.count} given; a trend needs at least 100")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        model = given.model or _tiny(Path(folder))
        with OwnServer(model.resolve(), Path(folder) / "server.log", n_ctx=1024) as server:
            report = soak(server.port, server.worker_pid, count=given.count, seed=given.seed, say=print)
    for surprise in report.surprises:
        print(surprise)
    growth = report.growth_per_request
    first, last = report.samples[len(report.samples) // 5][1], report.samples[-1][1]
    found = {
        "requests": given.count,
        "seconds": round(report.seconds, 1),
        "statuses": dict(sorted(report.statuses.items())),
        "surprises": len(report.surprises),
        "held_after_a_fifth_mb": round(first / 1e6, 1),
        "held_at_the_end_mb": round(last / 1e6, 1),
        "growth_bytes_per_request": round(growth, 1),
    }
    print(json.dumps(found))
    return 1 if report.surprises or growth * given.count > _ALLOWED_GROWTH else 0


def _tiny(folder: Path) -> Path:
    from tests.fixtures.tiny_gguf import write_tiny_llama

    return write_tiny_llama(folder / "tiny.gguf")


if __name__ == "__main__":
    sys.exit(main())
