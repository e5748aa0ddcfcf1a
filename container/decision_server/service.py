"""One request from typed decisions to its answer: prepares, groups by state, has them scored, reads the logits.

Everything is prepared, and so refused where it must be, before anything is scored. Knows no HTTP and no llama.cpp.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from decision_server.decisions import Decision
from decision_server.errors import Refusal
from decision_server.metrics import Metrics
from decision_server.model_errors import ContextOverflow, DecisionRefused
from decision_server.preparation import Prepared
from decision_server.readout import read_letters
from decision_server.scheduler import Scheduler
from decision_server.wire.decision_answers import BatchTiming, Calibration, Model, Result, Timing, answer_body
from decision_server.wire.decision_bodies import DecisionRequest
from decision_server.work_order import Taken

LOW_MASS = 0.5  # below it an answer carries a warning (F5)
_NO_CALIBRATION = Calibration(status="none", version=None, temperature=1.0)


class Preparing(Protocol):
    def prepare(self, decision: Decision) -> Prepared:
        """Raises DecisionRefused."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One decision on its way: what was prepared and how long that took."""

    decision: Decision
    prepared: Prepared
    encode_seconds: float

    @property
    def prefix_tokens(self) -> int:
        """Tokens up to the end of the state: what decisions with an equal state share."""
        return max(self.prepared.task.shared_lengths, default=0)


class DecisionService:
    """Safe to use from many threads at once."""

    def __init__(self, preparer: Preparing, scheduler: Scheduler, *, model: Model, metrics: Metrics) -> None:
        self._preparer = preparer
        self._scheduler = scheduler
        self._model = model
        self._metrics = metrics

    @property
    def name(self) -> str:
        return self._model.name

    def answer(self, request: DecisionRequest, *, received: float, deadline: float, gone: Callable[[], bool]) -> bytes:
        """received, deadline: on the clock of time.monotonic. Raises Refusal, EngineDied, EngineFailure."""
        with self._scheduler.admit(deadline=deadline) as ticket:
            asked = [
                self._prepare(decision, place)
                for decision, place in zip(request.decisions, request.places, strict=True)
            ]
            order = _by_prefix(asked)
            scored = ticket.score([asked[index].prepared.task for index in order], gone=gone)
        taken = [item for _, item in sorted(zip(order, scored, strict=True), key=lambda pair: pair[0])]
        total = time.monotonic() - received
        results = [self._result(item, score, total) for item, score in zip(asked, taken, strict=True)]
        self._metrics.decided(len(results), sum(bool(result.warnings) for result in results))
        return answer_body(request.dialect, results, _batch_timing(asked, taken, total))

    def begin_drain(self) -> None:
        self._scheduler.begin_drain()

    def wait_idle(self, timeout: float) -> bool:
        return self._scheduler.wait_idle(timeout)

    def stop(self, timeout: float) -> bool:
        return self._scheduler.stop(timeout)

    def _prepare(self, decision: Decision, place: str) -> _Asked:
        started = time.perf_counter()
        try:
            prepared = self._preparer.prepare(decision)
        except DecisionRefused as error:
            code = "context_overflow" if isinstance(error, ContextOverflow) else "bad_value"
            raise Refusal(code, f"{place}: {error}", field=f"{place}.{error.field}") from error
        return _Asked(decision=decision, prepared=prepared, encode_seconds=time.perf_counter() - started)

    def _result(self, asked: _Asked, taken: Taken, total_seconds: float) -> Result:
        prepared, score = asked.prepared, taken.score
        read = read_letters(score.logits, prepared.label_token_ids)
        return Result(
            id=asked.decision.id,
            option_ids=tuple(option.id for option in asked.decision.options),
            probabilities=read.probabilities,
            option_logits=read.option_logits,
            answer_token_ids=prepared.label_token_ids,
            input_tokens=prepared.input_tokens,
            allowed_token_mass=read.allowed_token_mass,
            full_vocab_argmax_id=read.full_vocab_argmax_id,
            prompt_sha256=prepared.prompt_sha256,
            prompt_version=prepared.prompt_version,
            readout=prepared.readout,
            probability_status="uncalibrated",
            calibration=_NO_CALIBRATION,
            warnings=_warnings(read.allowed_token_mass),
            model=self._model,
            timing=Timing(
                queue_seconds=taken.queue_seconds,
                encode_seconds=asked.encode_seconds,
                forward_seconds=score.forward_seconds,
                total_seconds=total_seconds,
                cached_tokens=score.cached_tokens,
            ),
        )


def _by_prefix(asked: Sequence[_Asked]) -> list[int]:
    """The order of scoring: decisions with the same tokens up to the end of the state follow one another.

    Groups stand in the order of their first decision, and decisions in the request's order within a group.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, item in enumerate(asked):
        groups.setdefault(item.prepared.task.tokens[: item.prefix_tokens], []).append(index)
    return [index for group in groups.values() for index in group]


def _warnings(allowed_token_mass: float) -> tuple[str, ...]:
    if allowed_token_mass >= LOW_MASS:
        return ()
    return (
        f"allowed_token_mass is {allowed_token_mass:.3f}, below {LOW_MASS}: the model would rather have answered with "
        "something else than an option's label, so the probabilities may mean little",
    )


def _batch_timing(asked: Sequence[_Asked], taken: Sequence[Taken], total_seconds: float) -> BatchTiming:
    prefixes = {item.prepared.task.tokens[: item.prefix_tokens] for item in asked}
    forward = sum(item.score.forward_seconds for item in taken)
    prefill = sum(_prefill_seconds(item, one) for item, one in zip(asked, taken, strict=True))
    return BatchTiming(
        queue_seconds=min(item.queue_seconds for item in taken),
        encode_seconds=sum(item.encode_seconds for item in asked),
        forward_seconds=forward,
        total_seconds=total_seconds,
        batch_size=len(asked),
        prefix_tokens=sum(len(prefix) for prefix in prefixes),
        prefill_seconds=prefill,
        suffix_forward_seconds=forward - prefill,
        true_suffix_tokens=sum(item.prepared.input_tokens - item.prefix_tokens for item in asked),
        cached_tokens=sum(item.score.cached_tokens for item in taken),
    )


def _prefill_seconds(asked: _Asked, taken: Taken) -> float:
    """The part of a question's engine time that its prefix took, by its share of the tokens computed."""
    score = taken.score
    prefix = max(0, asked.prefix_tokens - score.cached_tokens)
    return score.forward_seconds * prefix / score.evaluated_tokens if score.evaluated_tokens else 0.0
