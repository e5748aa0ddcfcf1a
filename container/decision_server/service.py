"""One request from typed decisions to its answer: prepares, has everything scored, reads the scores.

Everything is prepared, and so refused where it must be, before anything is scored. Knows no HTTP and no llama.cpp.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from decision_server.baselines import Baselines
from decision_server.calibration import Calibration
from decision_server.chat_service import ChatService
from decision_server.choices import LIKELIHOOD, Choice
from decision_server.decisions import Decision
from decision_server.errors import Refusal, error_code
from decision_server.metrics import Metrics
from decision_server.model_errors import DecisionRefused
from decision_server.places import spelled
from decision_server.plans import reading
from decision_server.preparation import Prepared
from decision_server.questions import NOUL
from decision_server.request_log import LoggedAnswer, answer_facts
from decision_server.results import CalibrationUsed, Model, Result
from decision_server.scheduler import Scheduler
from decision_server.scoring import ScoringTask
from decision_server.timings import Scored, batch_timing, timing
from decision_server.wire.asked import Asked
from decision_server.wire.json_body import shown
from decision_server.wire.model_names import ModelNames
from decision_server.work_list import answered, work_list

LOW_MASS = 0.5  # below it an answer by labels carries a warning (F5)
_NOT_CALIBRATED = CalibrationUsed(status="none", version=None, temperature=1.0)


class Preparing(Protocol):
    def prepare(self, decision: Decision) -> Prepared:
        """Raises DecisionRefused."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One decision on its way: what was prepared and how long that took."""

    decision: Decision
    prepared: Prepared
    encode_seconds: float


class DecisionService:
    """Safe to use from many threads at once. chats: what writes answers with the same model; None where that is off."""

    def __init__(
        self,
        preparer: Preparing,
        scheduler: Scheduler,
        *,
        model: Model,
        metrics: Metrics,
        calibration: Calibration | None = None,
        aliases: tuple[str, ...] = (),
        chats: ChatService | None = None,
    ) -> None:
        self._preparer = preparer
        self._scheduler = scheduler
        self._model = model
        self._metrics = metrics
        self._calibration = calibration
        self._names = ModelNames(name=model.name, aliases=aliases)
        self._baselines = Baselines()
        self.chats = chats

    @property
    def name(self) -> str:
        return self._names.name

    @property
    def names(self) -> ModelNames:
        """What requests may call the model."""
        return self._names

    @property
    def queue_depth(self) -> int:
        """Requests of decisions waiting or running now."""
        return self._scheduler.admitted

    def answer(self, request: Asked, *, received: float, deadline: float, gone: Callable[[], bool]) -> LoggedAnswer:
        """received, deadline: on the clock of time.monotonic. Raises Refusal, EngineDied, EngineFailure."""
        with self._scheduler.admit(deadline=deadline) as ticket:
            asked = [self._prepare(request, index) for index in range(len(request.decisions))]
            baselines = self._kept_baselines(asked)
            plans = [one.prepared.plan for one in asked]
            entries = work_list(plans, baselines)
            taken = ticket.score(
                [entry.task for entry in entries],
                read=lambda place, score: reading(score, entries[place].label_token_ids),
                gone=gone,
                so_far=lambda done: (answered(plans, entries[done:]), len(plans)),
            )
        scored = [Scored(entry=entry, taken=one) for entry, one in zip(entries, taken, strict=True)]
        self._keep_baselines(scored, baselines)
        encode = [one.encode_seconds for one in asked]
        total = time.monotonic() - received
        results = [
            self._result(one, [item for item in scored if item.entry.owner == owner], baselines, total)
            for owner, one in enumerate(asked)
        ]
        self._metrics.decided(
            len(results), sum(map(_has_low_mass, results)), sum(result.abstained is True for result in results)
        )
        spent = batch_timing(scored, encode, total)
        return LoggedAnswer(body=request.answer(results, spent), facts=answer_facts(results, spent))

    def begin_drain(self) -> None:
        self._scheduler.begin_drain()

    def wait_idle(self, timeout: float) -> bool:
        return self._scheduler.wait_idle(timeout)

    def stop(self, timeout: float) -> bool:
        return self._scheduler.stop(timeout)

    def _prepare(self, request: Asked, index: int) -> _Asked:
        started = time.perf_counter()
        decision = request.decisions[index]
        try:
            prepared = self._preparer.prepare(decision)
        except DecisionRefused as error:
            code = error_code(error)
            message = f"{spelled(request.place(index, None))} ({shown(decision.id)}): {error}"
            raise Refusal(code, message, place=request.place(index, error.field)) from error
        return _Asked(decision=decision, prepared=prepared, encode_seconds=time.perf_counter() - started)

    def _kept_baselines(self, asked: Sequence[_Asked]) -> dict[ScoringTask, tuple[float, ...]]:
        needed = {one.prepared.plan.baseline for one in asked} - {None}
        found = {task: self._baselines.get(task) for task in needed if task is not None}
        return {task: value for task, value in found.items() if value is not None}

    def _keep_baselines(self, scored: Sequence[Scored], known: dict[ScoringTask, tuple[float, ...]]) -> None:
        """Adds what was just computed to what is known to this request and to later ones."""
        for item in scored:
            if item.entry.place is None:
                value = known[item.entry.task] = item.taken.value.totals
                self._baselines.put(item.entry.task, value)

    def _result(
        self,
        asked: _Asked,
        scored: Sequence[Scored],
        baselines: dict[ScoringTask, tuple[float, ...]],
        total_seconds: float,
    ) -> Result:
        prepared, plan = asked.prepared, asked.prepared.plan
        own = {item.entry.place: item.taken.value for item in scored}
        readings = [own[place] for place in range(len(plan.tasks))]
        baseline = None if plan.baseline is None else baselines[plan.baseline]
        calibration = self._calibration_of(asked)
        read = plan.read(readings, baseline, temperature=calibration.temperature)
        return Result(
            id=asked.decision.id,
            option_ids=tuple(option.id for option in asked.decision.options),
            probabilities=read.probabilities,
            option_logits=read.option_logits,
            answer_token_ids=plan.answer_token_ids,
            input_tokens=prepared.input_tokens,
            allowed_token_mass=read.allowed_token_mass,
            full_vocab_argmax_id=read.full_vocab_argmax_id,
            prompt_sha256=prepared.prompt_sha256,
            prompt_version=prepared.prompt_version,
            readout=prepared.readout,
            probability_status="uncalibrated" if calibration is _NOT_CALIBRATED else "calibrated",
            calibration=calibration,
            warnings=(*prepared.warnings, *_mass_warning(prepared.readout, read.allowed_token_mass)),
            model=self._model,
            timing=timing(scored, asked.encode_seconds, total_seconds),
            rotation_spread=read.rotation_spread,
            abstained=_abstained(asked.decision, read.probabilities),
        )

    def _calibration_of(self, asked: _Asked) -> CalibrationUsed:
        used = Choice(readout=asked.prepared.readout, prompt_version=asked.prepared.prompt_version)
        calibration = self._calibration
        if calibration is None:
            return _NOT_CALIBRATED
        temperature = calibration.temperature_for(asked.decision.question_type, used)
        if temperature is None:
            return _NOT_CALIBRATED
        return CalibrationUsed(status="applied", version=calibration.version, temperature=temperature)


def _abstained(decision: Decision, probabilities: Sequence[float]) -> bool | None:
    """By what is sent, so that a caller may check it: of a noul that is p alone. None where nobody asked."""
    if decision.abstain_below is None:
        return None
    sent = (probabilities[0], 1.0 - probabilities[0]) if decision.question_type == NOUL else probabilities
    return max(sent) < decision.abstain_below


def _has_low_mass(result: Result) -> bool:
    return result.readout != LIKELIHOOD and result.allowed_token_mass < LOW_MASS


def _mass_warning(readout: str, allowed_token_mass: float) -> tuple[str, ...]:
    """None by likelihood: a whole text of many tokens is never probable, even where it is the best of all."""
    if readout == LIKELIHOOD or allowed_token_mass >= LOW_MASS:
        return ()
    return (
        f"allowed_token_mass is {allowed_token_mass:.3f}, below {LOW_MASS}: the model would rather have answered with "
        "something else than an option's label, so the probabilities may mean little",
    )
