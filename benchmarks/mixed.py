"""`python -m benchmarks.mixed`: requests of every dialect at once, each answer compared with that of the same request
alone, on a server that was asked nothing else at the same time.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.mixed_requests import Asked, mixed, told
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server

CALLERS, BUSY = 64, 503


def compare(model: Path, folder: Path, *, count: int, seed: int, settings: dict[str, str]) -> dict[str, Any]:
    """How many requests of each kind there were, which of them (by number) were answered otherwise, and why."""
    requests = mixed(seed, count)
    environment = {"DECISION_MODEL_PATH": str(model), "DECISION_QUEUE_SIZE": "1024", **settings}
    # nothing is measured here, and threads that wait by spinning would slow down all that runs beside
    environment |= {"DECISION_DEADLINE_SECONDS": "3600", "OMP_WAIT_POLICY": "passive"}
    started = time.monotonic()
    with Server(SERVE, folder / "alone", environment) as server:
        alone = [_answer(server, each) for each in requests]
    between = time.monotonic()
    with Server(SERVE, folder / "together", environment) as server, ThreadPoolExecutor(CALLERS) as pool:
        together = list(pool.map(lambda each: _answer(server, each), requests))
    numbers = range(count)
    return {
        "requests": count,
        "seed": seed,
        "callers": CALLERS,
        "kinds": dict(Counter(each.kind for each in requests)),
        "not_answered": [number for number in numbers if {alone[number][0], together[number][0]} != {200}],
        "different": [number for number in numbers if alone[number] != together[number]],
        "seconds": {"alone": between - started, "together": time.monotonic() - between},
    }


def _answer(server: Server, asked: Asked) -> tuple[int, object]:
    """Asks again where the server is busy: only so many bodies in bulk are answered at once."""
    while (reply := server.request("POST", asked.route, asked.body, {"Content-Type": asked.media_type})).status == BUSY:
        time.sleep(0.1)
    return reply.status, told(asked, reply.body) if reply.status == 200 else reply.body


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed", description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="a .gguf (default: a tiny one with random weights)")
    parser.add_argument("--output", type=Path, help="a file for the result, as JSON")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mixed: ended by SIGTERM; its servers are stopped"))
    with tempfile.TemporaryDirectory(prefix="mixed-") as folder:
        model = given.model or write_tiny_llama(Path(folder) / "tiny.gguf")
        report = compare(model, Path(folder), count=given.count, seed=given.seed, settings={})
    report |= {"model": model.name, "machine": machine.facts()}
    print(json.dumps(report))
    if given.output is not None:
        given.output.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if report["different"] or report["not_answered"] else 0


if __name__ == "__main__":
    sys.exit(main())
