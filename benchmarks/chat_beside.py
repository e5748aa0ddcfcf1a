"""What a chat costs those who decide meanwhile: `python -m benchmarks.chat_beside MODEL [--rounds N]`.

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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

from benchmarks import texts
from benchmarks.processes import Caller, OwnServer

_DECISIONS = 8  # in each half of a round
_SENTENCES = 3
_CHAT = {
    "messages": [{"role": "user", "content": "Write a long story about a lamp."}],
    "max_tokens": 1500,
    "stream": True,
}


@dataclass
class Found:
    """Seconds of each decision, alone and beside a chat; tokens of chats and the time in which they came."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    tokens: int = 0
    token_seconds: list[float] = field(default_factory=list)

    def table(self) -> str:
        rows = [("p50", median), ("p95", lambda values: quantiles(values, n=20)[-1])]
        lines = ["| decision | alone, ms | beside a chat, ms | ratio | longer by, ms |", "|---|---|---|---|---|"]
        for name, read in rows:
            alone, beside = read(self.alone), read(self.beside)
            cells = [
                f"{alone * 1e3:.1f}",
                f"{beside * 1e3:.1f}",
                f"{beside / alone:.2f}",
                f"{(beside - alone) * 1e3:.1f}",
            ]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        step = median(self.token_seconds) * 1e3
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chat_beside", description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a .gguf file or a model folder")
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    print(measure(given.model, rounds=given.rounds).table())
