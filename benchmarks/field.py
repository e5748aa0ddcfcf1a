"""All contestants of one model, in processes of their own on the same cores; only one computes at a time.

Whoever is asked next waits until the others are idle: GNU OpenMP's threads spin for a moment after their work, and the
CPU time of all other processes is watched until it stands still. What they used during a measurement is added up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.memory import MemoryWatch
from benchmarks.processes import OpenAiServer, OwnServer, PeerProcess, ProcessFailed, Watched
from benchmarks.workloads import FRESH, LIMIT_DEFAULT, LIMIT_OWN, OPENAI, OURS, RESTORED, Asked, Request

_STILL_SECONDS = 0.015  # how long the others must have stood still
_STILL_CPU = 0.0005  # seconds of CPU time that count as standing still: a server's own heartbeat
_SETTLE_LIMIT = 3.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """seconds of one request. cached: of each of its decisions, where ours was asked. results: its answers."""

    seconds: float
    cached: tuple[int, ...] = ()
    results: tuple[dict[str, Any], ...] = ()


@dataclass
class Idle:
    """What processes that were not measured used meanwhile."""

    measured_seconds: float = 0.0
    others_cpu_seconds: float = 0.0
    unsettled: int = 0

    @property
    def share(self) -> float:
        """Of one core."""
        return self.others_cpu_seconds / self.measured_seconds if self.measured_seconds else 0.0


@dataclass
class Field:
    """openai: None where that server cannot run; the reason stands in `absent`."""

    own_server: OwnServer
    own: PeerProcess
    default: PeerProcess
    openai: OpenAiServer | None
    memory: MemoryWatch
    absent: dict[str, str] = field(default_factory=dict)
    idle: Idle = field(default_factory=Idle)

    @classmethod
    def start(cls, model: Path, folder: Path, *, n_ctx: int) -> Field:
        own = PeerProcess(model, folder / "peer-own.log", n_ctx=n_ctx, n_threads=1, settings="own")
        started: list[Watched] = [own]
        try:
            n_threads = own.facts["engine"]["n_threads"]
            default = PeerProcess(
                model, folder / "peer-default.log", n_ctx=n_ctx, n_threads=n_threads, settings="default"
            )
            started.append(default)
            server = OwnServer(model, folder / "server.log", n_ctx=n_ctx)
            started.append(server)
            memory = MemoryWatch(server.worker_pid, lambda: server.caller.get("/metrics").body.decode())
            made = cls(own_server=server, own=own, default=default, openai=None, memory=memory)
            try:
                made.openai = OpenAiServer(model, folder / "openai.log", n_ctx=n_ctx, n_threads=n_threads)
                made._check_openai()
            except ProcessFailed as failure:
                if made.openai is not None:
                    made.openai.close()
                    made.openai = None
                made.absent[OPENAI] = str(failure).splitlines()[0]
        except BaseException:
            for one in started:
                one.close()
            raise
        return made

    def close(self) -> None:
        for one in self.processes.values():
            one.close()

    @property
    def processes(self) -> dict[str, Watched]:
        found: dict[str, Watched] = {OURS: self.own_server, LIMIT_OWN: self.own, LIMIT_DEFAULT: self.default}
        if self.openai is not None:
            found[OPENAI] = self.openai
        return found

    def cpu_seconds(self) -> float:
        return sum(one.cpu_seconds() for one in self.processes.values())

    def prepare(self, decisions: Sequence[dict[str, Any]]) -> tuple[Asked, ...]:
        answers = self.own.call("prepare", decisions=list(decisions))
        return tuple(Asked.from_json(answer) for answer in answers)

    def ask(self, name: str, requests: Sequence[Request], plans: Sequence[tuple[int, ...]]) -> list[Answer]:
        """Has one contestant answer the requests one after the other, the others idle. plans: for the limits, how many
        leading tokens of each decision are taken as computed."""
        one: dict[str, Callable[[Request, tuple[int, ...]], Answer]] = {
            OURS: self._ours,
            LIMIT_OWN: self._limit_own,
            LIMIT_DEFAULT: self._limit_default,
            FRESH: self._fresh,
            RESTORED: self._restored,
            OPENAI: self._openai,
        }
        others = [process for key, process in self.processes.items() if key != _HOME.get(name, name)]
        self._settle(others)
        before, began = sum(process.cpu_seconds() for process in others), time.perf_counter()
        answers = [one[name](request, plan) for request, plan in zip(requests, plans, strict=True)]
        self.idle.measured_seconds += time.perf_counter() - began
        self.idle.others_cpu_seconds += sum(process.cpu_seconds() for process in others) - before
        if name == OURS:
            self.memory.note()
        return answers

    def _settle(self, others: Sequence[Watched]) -> None:
        until = time.perf_counter() + _SETTLE_LIMIT
        before = sum(process.cpu_seconds() for process in others)
        while True:
            time.sleep(_STILL_SECONDS)
            now = sum(process.cpu_seconds() for process in others)
            if now - before <= _STILL_CPU:
                return
            if time.perf_counter() > until:
                self.idle.unsettled += 1
                return
            before = now

    def _ours(self, request: Request, _plan: tuple[int, ...]) -> Answer:
        reply = self.own_server.caller.post("/invocations", request.body)
        if reply.status != 200:
            raise ProcessFailed(f"this project's server answered {reply.status}: {reply.body[:500]!r}")
        body = json.loads(reply.body)
        results = tuple(body["results"] if "results" in body else [body["result"]])
        return Answer(
            seconds=reply.seconds,
            cached=tuple(result["timing"]["cached_tokens"] for result in results),
            results=results,
        )

    def _limit_own(self, request: Request, plan: tuple[int, ...]) -> Answer:
        return self._limit(self.own, request, plan)

    def _limit_default(self, request: Request, plan: tuple[int, ...]) -> Answer:
        return self._limit(self.default, request, plan)

    def _limit(self, peer: PeerProcess, request: Request, plan: tuple[int, ...]) -> Answer:
        answer = peer.call("evaluated", questions=[as_question(*one) for one in zip(request.asked, plan, strict=True)])
        return Answer(seconds=answer["seconds"], results=tuple({"option_logits": row} for row in answer["logits"]))

    def _fresh(self, request: Request, _plan: tuple[int, ...]) -> Answer:
        answer = self.default.call("fresh", prompts=[asked.tokens for asked in request.asked])
        return Answer(seconds=answer["seconds"])

    def _restored(self, request: Request, _plan: tuple[int, ...]) -> Answer:
        """All questions of a request are over one state."""
        end = request.asked[0].state_end
        answer = self.default.call(
            "restored",
            prefix=request.asked[0].tokens[:end],
            suffixes=[asked.tokens[asked.state_end :] for asked in request.asked],
        )
        return Answer(seconds=answer["seconds"])

    def _openai(self, request: Request, _plan: tuple[int, ...]) -> Answer:
        if self.openai is None:
            raise ProcessFailed("the OpenAI server is not running")
        seconds, body = self.openai.one_token(request.asked[0].text)
        if body["usage"]["prompt_tokens"] != len(request.asked[0].tokens):
            raise ProcessFailed(
                f"the OpenAI server read {body['usage']['prompt_tokens']} tokens, {len(request.asked[0].tokens)} asked"
            )
        return Answer(seconds=seconds)

    def _check_openai(self) -> None:
        """It must be able to answer two different prompts: not every model can be cut back by it."""
        if self.openai is not None:
            for text in ("The first prompt of two is this one.", "The first prompt is followed by another."):
                self.openai.one_token(text)


def as_question(asked: Asked, cached: int) -> dict[str, Any]:
    """As the peers' `evaluated` takes it."""
    return {
        "tokens": asked.tokens,
        "shared_lengths": asked.shared_lengths,
        "cached": cached,
        "label_ids": asked.label_ids,
    }


# (b) and (c) run in the process of the peer with default settings
_HOME = {FRESH: LIMIT_DEFAULT, RESTORED: LIMIT_DEFAULT}
