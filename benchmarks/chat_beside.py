"""What a chat costs those who decide meanwhile: `python -m benchmarks.chat_beside MODEL [--rounds N] [--output FILE]`.

One server, one caller of decisions; in every round some decisions alone and as many while one chat is being written, in
drawn order, so that what the machine does meets both alike. Told as a ratio, beside the time of one token of the chat,
which is what a decision may have to wait (contract 6). Figures are worth something only where nothing else computes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks import machine, texts
from benchmarks.processes import Caller, OwnServer

_DECISIONS = 8  # in each half of a round
_SENTENCES = 3
_CHAT = {
    "messages": [{"role": "user", "content": "Write a long story about a lamp."}],
    "max_tokens": 1500,
    "stream": True,
}


_READ: dict[str, Callable[[list[float]], float]] = {
    "p50": median,
    "p95": lambda values: quantiles(values, n=20)[-1],
}


@dataclass
class Found:
    """Seconds of each decision, alone and beside a chat; tokens of chats and the time in which they came."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    tokens: int = 0
    token_seconds: list[float] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        """Milliseconds, and ratios of them."""
        rows = {}
        for name, read in _READ.items():
            alone, beside = read(self.alone), read(self.beside)
            rows[name] = {
                "alone_ms": alone * 1e3,
                "beside_ms": beside * 1e3,
                "ratio": beside / alone,
                "longer_by_ms": (beside - alone) * 1e3,
            }
        counts = {"alone": len(self.alone), "beside": len(self.beside), "chat_tokens": self.tokens}
        return {"decision": rows, "token_p50_ms": median(self.token_seconds) * 1e3, "counts": counts}

    def table(self) -> str:
        found = self.report()
        lines = ["| decision | alone, ms | beside a chat, ms | ratio | longer by, ms |", "|---|---|---|---|---|"]
        for name, row in found["decision"].items():
            cells = [
                f"{row['alone_ms']:.1f}",
                f"{row['beside_ms']:.1f}",
                f"{row['ratio']:.2f}",
                f"{row['longer_by_ms']:.1f}",
            ]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        step = found["token_p50_ms"]
        return "\n".join([*lines, "", f"One token of the chat, nothing beside it: {step:.1f} ms (p50)."])


def measure(model: Path, *, rounds: int) -> Found:
    found, drawn = Found(), random.Random(20240607)
    with (
        tempfile.TemporaryDirectory() as folder,
        OwnServer(model, Path(folder) / "log", n_ctx=2048, settings={"DECISION_CHAT_N_CTX": "2048"}) as server,
    ):
        _decide(server.caller, drawn, 3)
        found.token_seconds = _token_seconds(server.port)
        for _ in range(rounds):
            for beside in drawn.sample((False, True), 2):
                if beside:
                    with _chatting(server.port) as tokens:
                        found.beside += _decide(server.caller, drawn, _DECISIONS)
                    found.tokens += sum(tokens)
                else:
                    found.alone += _decide(server.caller, drawn, _DECISIONS)
    return found


def _decide(caller: Caller, drawn: random.Random, count: int) -> list[float]:
    seconds = []
    for number in range(count):
        state = " ".join(texts.sentence(drawn) for _ in range(_SENTENCES))
        reply = caller.post("/invocations", {"decision": texts.decision(drawn, f"d{number}", state)})
        if reply.status != 200:
            raise SystemExit(f"a decision was answered {reply.status}: {reply.body[:300]!r}")
        seconds.append(reply.seconds)
    return seconds


def _token_seconds(port: int) -> list[float]:
    """Between the parts of a chat that has the engine to itself."""
    times = [time.perf_counter() for _ in _parts(port, _CHAT | {"max_tokens": 40, "seed": 1})]
    return [later - earlier for earlier, later in pairwise(times[1:])]


@contextmanager
def _chatting(port: int) -> Iterator[list[int]]:
    """One chat under way, begun anew when it ends. Gives a list that gets a 1 for each part."""
    begun, enough, tokens = threading.Event(), threading.Event(), [0]

    def write() -> None:
        seed = 0
        while not enough.is_set():
            seed += 1
            for _ in _parts(port, _CHAT | {"seed": seed}):
                tokens.append(1)
                begun.set()
                if enough.is_set():
                    return

    thread = threading.Thread(target=write)
    thread.start()
    try:
        if not begun.wait(60):
            raise SystemExit("no chat began within 60 s")
        yield tokens
    finally:
        enough.set()
        thread.join()


def _parts(port: int, body: object) -> Iterator[bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request("POST", "/invocations", json.dumps(body).encode(), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise SystemExit(f"a chat was answered {response.status}: {response.read()[:300]!r}")
        for line in response:
            if line.startswith(b"data: "):
                yield line
    finally:
        connection.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chat_beside", description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a .gguf file or a model folder")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--output", type=Path, help="a file for the result, as JSON")
    given = parser.parse_args(arguments)
    found = measure(given.model, rounds=given.rounds)
    print(found.table())
    if given.output is not None:
        told = {"model": given.model.name, "rounds": given.rounds, **found.report(), "machine": machine.facts()}
        given.output.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
