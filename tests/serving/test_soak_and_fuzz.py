"""The soak and the fuzz of `benchmarks/`, in short, on a tiny real model behind a real gunicorn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.fuzz import fuzz
from benchmarks.fuzz_bodies import cases
from benchmarks.soak import soak
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("soak")
    settings = {
        "DECISION_MODEL_PATH": str(write_tiny_llama(folder / "tiny.gguf")),
        "DECISION_N_CTX": "1024",
        "DECISION_N_THREADS": "1",
    }
    with Server(SERVE, folder / "log", settings) as started:
        yield started


def worker(server: Server) -> int:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    assert len(children) == 1
    return int(children[0])


def test_nonsense_is_refused_and_the_same_process_answers_afterwards_as_before(server: Server) -> None:
    before = worker(server)
    report = fuzz(server.port, cases(seed=7, count=160))
    assert report.failures == []
    assert len(report.kinds) == 16
    assert report.answered["200"] > 20
    assert report.answered["400"] > 50
    assert worker(server) == before
    assert server.process.poll() is None


def test_mixed_requests_are_answered_as_expected_and_hold_no_memory_each(server: Server) -> None:
    report = soak(server.port, worker(server), count=200, seed=7)
    assert report.surprises == []
    assert sum(report.statuses.values()) == 200
    # A leak of one row of logits, one kept prefix or one body a request would be far more; threads and caches fill up
    # meanwhile, and that is what this room is for.
    assert report.growth_per_request * 200 < 20e6
