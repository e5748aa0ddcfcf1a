"""One engine, one owner, a bounded queue, deadlines, drain and failure (F4, F7, F18)."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from decision_server.errors import Refusal
from decision_server.model_errors import EngineFailure
from decision_server.scheduler import EngineDied, Scheduler
from decision_server.scoring import DECODE_TOKENS, Score, ScoringTask
from decision_server.work_order import Taken
from tests.serving.fake_engine import FakeEngine

HERE: Callable[[], bool] = lambda: False  # noqa: E731 - a caller that has not hung up


class Gate:
    """Work that waits until it is opened; tells when somebody is inside."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()

    def __call__(self, task: ScoringTask) -> None:
        self.entered.release()
        assert self.open.wait(30)


@contextmanager
def running(engine: FakeEngine, queue_size: int = 4) -> Iterator[Scheduler]:
    failures: list[Exception] = []
    scheduler = Scheduler(engine, queue_size=queue_size, observe=lambda score: None, on_failure=failures.append)
    scheduler.start()
    try:
        yield scheduler
    finally:
        assert scheduler.stop(30)
        assert engine.closed.is_set()


def task(tokens: int = 3, first: int = 1) -> ScoringTask:
    return ScoringTask(tokens=(first, *([2] * (tokens - 1))))


def ask(
    scheduler: Scheduler, tasks: list[ScoringTask], seconds: float = 30, gone: Callable[[], bool] = HERE
) -> list[Taken[Score]]:
    deadline = time.monotonic() + seconds
    with scheduler.admit(deadline=deadline) as ticket:
        return ticket.score(tasks, read=lambda place, score: score, gone=gone)


def eventually(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit, "the condition was not met within 10 s"
        time.sleep(0.002)


def test_scores_come_back_in_the_order_of_the_tasks() -> None:
    with running(FakeEngine()) as scheduler:
        taken = ask(scheduler, [task(first=n) for n in (5, 3, 9)])
    assert [float(item.value.logits[-1]) for item in taken] == [5.0, 3.0, 9.0]


def test_of_twenty_callers_exactly_one_and_the_queue_are_served_and_the_rest_are_told_at_once() -> None:
    gate = Gate()
    engine = FakeEngine(gate)
    refused_after: list[float] = []

    def call() -> int:
        started = time.monotonic()
        try:
            ask(scheduler, [task()])
        except Refusal as refusal:
            refused_after.append(time.monotonic() - started)
            return refusal.status
        return 200

    with running(engine, queue_size=4) as scheduler, ThreadPoolExecutor(20) as callers:
        calls = [callers.submit(call) for _ in range(20)]
        eventually(lambda: len(refused_after) == 15)
        gate.open.set()
        statuses = sorted(future.result() for future in calls)
    assert statuses == [200] * 5 + [503] * 15
    assert max(refused_after) < 0.1
    assert engine.overlaps == 0
    assert len(engine.threads) == 1


def test_a_refusal_for_a_full_queue_says_when_to_come_back() -> None:
    gate = Gate()
    with running(FakeEngine(gate), queue_size=1) as scheduler, ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(ask, scheduler, [task()]) for _ in range(2)]
        eventually(lambda: scheduler.admitted == 2)
        with pytest.raises(Refusal, match="2 requests") as caught:
            scheduler.admit(deadline=time.monotonic() + 1)
        gate.open.set()
        wait(calls)
    assert caught.value.code == "queue_full"
    assert caught.value.retry_after_seconds == 1


def test_a_deadline_ends_the_waiting_and_no_further_question_runs() -> None:
    engine = FakeEngine(lambda task: time.sleep(0.05))
    with running(engine) as scheduler:
        started = time.monotonic()
        with pytest.raises(Refusal) as caught:
            ask(scheduler, [task()] * 100, seconds=0.3)
        assert time.monotonic() - started < 1.3
        ask(scheduler, [task(first=9)])
        scored = [item.tokens[0] for item in engine.scored]
    assert caught.value.code == "deadline_exceeded"
    assert "of 100 questions" in caught.value.message
    assert scored.count(1) < 10
    assert scored[-1] == 9


def test_a_caller_that_has_gone_is_not_worked_for() -> None:
    gate = Gate()
    engine = FakeEngine(gate)
    gone = threading.Event()
    with running(engine) as scheduler, ThreadPoolExecutor(1) as callers:
        call: Future[list[Taken[Score]]] = callers.submit(ask, scheduler, [task()] * 5, 30, gone.is_set)
        assert gate.entered.acquire(timeout=10)
        gone.set()
        with pytest.raises(Refusal, match="closed the connection"):
            call.result(10)
        gate.open.set()
        ask(scheduler, [task(first=9)])
    assert [item.tokens[0] for item in engine.scored] == [1, 9]


def test_a_question_that_runs_when_its_caller_leaves_is_stopped_and_the_engine_goes_on() -> None:
    gate = Gate()
    engine = FakeEngine(gate)
    gone = threading.Event()
    with running(engine) as scheduler, ThreadPoolExecutor(2) as callers:
        left = callers.submit(ask, scheduler, [task(first=1)], 30, gone.is_set)
        assert gate.entered.acquire(timeout=10)
        late = callers.submit(ask, scheduler, [task(first=2)], 0.2)
        gone.set()
        for call in (left, late):
            with pytest.raises(Refusal):
                call.result(10)
        gate.open.set()
        assert len(ask(scheduler, [task(first=9)])) == 1
    assert [item.tokens[0] for item in engine.stopped] == [1]
    assert [item.tokens[0] for item in engine.scored] == [1, 9]


def test_a_question_that_runs_past_its_deadline_is_stopped() -> None:
    gate = Gate()
    engine = FakeEngine(gate)
    with running(engine) as scheduler:
        with pytest.raises(Refusal, match="0 of 1 questions"):
            ask(scheduler, [task(first=1)], 0.1)
        gate.open.set()
        ask(scheduler, [task(first=9)])
    assert [item.tokens[0] for item in engine.stopped] == [1]


def test_each_score_is_read_as_it_arrives_and_none_is_kept() -> None:
    seen: list[weakref.ref[NDArray[np.float32]]] = []

    def read(place: int, score: Score) -> int:
        seen.append(weakref.ref(score.logits))
        return place

    with running(FakeEngine()) as scheduler, scheduler.admit(deadline=time.monotonic() + 30) as ticket:
        taken = ticket.score([task()] * 3, read=read, gone=HERE)
    assert [item.value for item in taken] == [0, 1, 2]
    gc.collect()
    assert [one() for one in seen] == [None, None, None]


def test_what_the_reading_of_a_score_raises_ends_that_request_alone() -> None:
    def read(place: int, score: Score) -> int:
        raise EngineFailure("1 of 32 logits are not finite")

    engine = FakeEngine()
    with running(engine) as scheduler:
        with scheduler.admit(deadline=time.monotonic() + 30) as ticket, pytest.raises(EngineFailure):
            ticket.score([task()] * 3, read=read, gone=HERE)
        assert len(ask(scheduler, [task(first=9)])) == 1


def test_a_short_request_is_answered_between_the_questions_of_a_long_one() -> None:
    gate = Gate()
    engine = FakeEngine(gate)
    with running(engine) as scheduler, ThreadPoolExecutor(2) as callers:
        long = callers.submit(ask, scheduler, [task(first=1)] * 20)
        assert gate.entered.acquire(timeout=10)
        short = callers.submit(ask, scheduler, [task(first=2)])
        eventually(lambda: scheduler.admitted == 2)
        eventually(lambda: len(scheduler._jobs) == 2)
        gate.open.set()
        wait([long, short])
    assert [item.tokens[0] for item in engine.scored][:3] == [1, 2, 1]


def test_a_wait_past_the_deadline_is_refused_at_once_with_the_time_to_retry() -> None:
    gate = Gate()
    gate.open.set()
    engine = FakeEngine(gate, seconds_a_token=1.0)  # as measured by the engine: one token a second
    with running(engine) as scheduler, ThreadPoolExecutor(1) as callers:
        ask(scheduler, [task()])
        assert scheduler.tokens_per_second == 1.0
        gate.open.clear()
        call = callers.submit(ask, scheduler, [task(tokens=40)], 60)
        eventually(lambda: len(scheduler._jobs) == 1)
        with pytest.raises(Refusal) as caught:
            ask(scheduler, [task(tokens=45)], seconds=50)
        gate.open.set()
        call.result(10)
    assert caught.value.code == "wait_too_long"
    assert caught.value.status == 503
    assert caught.value.retry_after_seconds in (35, 36)


def test_a_request_that_is_alone_is_tried_however_long_it_may_take() -> None:
    engine = FakeEngine(seconds_a_token=1.0)
    with running(engine) as scheduler:
        ask(scheduler, [task()])
        assert len(ask(scheduler, [task(tokens=500)], seconds=10)) == 1


def test_a_question_whose_caller_has_left_counts_as_the_one_decode_after_which_it_stops() -> None:
    gate = Gate()
    gate.open.set()
    with running(FakeEngine(gate, seconds_a_token=1.0)) as scheduler, ThreadPoolExecutor(1) as callers:
        ask(scheduler, [task()])  # measured: one token a second
        gate.open.clear()
        assert gate.entered.acquire(timeout=10)
        with pytest.raises(Refusal, match="0 of 1 questions"):
            ask(scheduler, [task(tokens=80_000)], seconds=0.2)
        with pytest.raises(Refusal) as caught:
            ask(scheduler, [task()], seconds=DECODE_TOKENS)
        small = callers.submit(ask, scheduler, [task()], DECODE_TOKENS + 60)
        eventually(lambda: len(scheduler._jobs) == 1)
        gate.open.set()
        assert len(small.result(10)) == 1
    assert caught.value.code == "wait_too_long"
    assert f"about {DECODE_TOKENS + 3}.0 s" in caught.value.message


def test_a_deadline_is_told_in_questions_of_the_caller_where_one_takes_several_tasks() -> None:
    gate = Gate()
    engine = FakeEngine(lambda task: None if len(engine.scored) < 4 else gate(task))
    with running(engine) as scheduler:
        with (
            scheduler.admit(deadline=time.monotonic() + 0.3) as ticket,
            pytest.raises(Refusal, match=r"with 1 of 4 questions scored"),
        ):
            ticket.score([task()] * 8, read=lambda place, score: 0, gone=HERE, so_far=lambda done: (done // 2, 4))
        gate.open.set()


def test_draining_refuses_new_requests_and_serves_admitted_ones() -> None:
    gate = Gate()
    with running(FakeEngine(gate)) as scheduler, ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(ask, scheduler, [task()]) for _ in range(2)]
        eventually(lambda: len(scheduler._jobs) == 2)
        scheduler.begin_drain()
        assert not scheduler.wait_idle(0.05)
        with pytest.raises(Refusal) as caught:
            scheduler.admit(deadline=time.monotonic() + 5)
        gate.open.set()
        assert scheduler.wait_idle(10)
        assert [len(call.result(10)) for call in calls] == [1, 1]
    assert caught.value.code == "draining"


def test_stopping_tells_those_who_still_wait() -> None:
    gate = Gate()
    engine = FakeEngine(gate)
    scheduler = Scheduler(engine, queue_size=4, observe=lambda score: None, on_failure=lambda error: None)
    scheduler.start()
    with ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(ask, scheduler, [task()] * 2) for _ in range(2)]
        eventually(lambda: len(scheduler._jobs) == 2)
        assert gate.entered.acquire(timeout=10)
        assert not scheduler.stop(0.05)  # one question is still inside the engine
        for call in calls:
            with pytest.raises(Refusal, match="shutting down"):
                call.result(10)
        assert not engine.closed.is_set()
        gate.open.set()
        assert scheduler.stop(10)
    assert engine.closed.is_set()
    assert len(engine.scored) == 1


def test_an_engine_that_raises_fails_its_request_refuses_the_others_and_is_closed() -> None:
    gate = Gate()
    failures: list[Exception] = []

    def broken(task: ScoringTask) -> None:
        gate(task)
        raise RuntimeError("decode returned -3")

    engine = FakeEngine(broken)
    scheduler = Scheduler(engine, queue_size=4, observe=lambda score: None, on_failure=failures.append)
    scheduler.start()
    with ThreadPoolExecutor(2) as callers:
        first = callers.submit(ask, scheduler, [task()])
        assert gate.entered.acquire(timeout=10)
        second = callers.submit(ask, scheduler, [task()])
        eventually(lambda: len(scheduler._jobs) == 2)
        gate.open.set()
        with pytest.raises(EngineDied) as died:
            first.result(10)
        with pytest.raises(Refusal) as refused:
            second.result(10)
    assert str(died.value.__cause__) == "decode returned -3"
    assert refused.value.code == "engine_failed"
    assert [str(failure) for failure in failures] == ["decode returned -3"]
    with pytest.raises(Refusal, match="engine failed"):
        scheduler.admit(deadline=time.monotonic() + 5)
    assert engine.closed.wait(10)
    assert len(engine.scored) == 1


def test_every_score_is_observed_once() -> None:
    seen: list[Score] = []
    engine = FakeEngine()
    scheduler = Scheduler(engine, queue_size=4, observe=seen.append, on_failure=lambda error: None)
    scheduler.start()
    ask(scheduler, [task(), task(tokens=7)])
    assert scheduler.stop(10)
    assert [score.evaluated_tokens for score in seen] == [3, 7]


def test_the_measured_rate_counts_the_texts_that_are_computed_behind_a_prompt() -> None:
    with running(FakeEngine(seconds_a_token=0.5)) as scheduler:
        ask(scheduler, [ScoringTask(tokens=(1, 2, 3), continuations=((4, 5, 6), (7,)))])
        assert scheduler.tokens_per_second == pytest.approx(2.0)
