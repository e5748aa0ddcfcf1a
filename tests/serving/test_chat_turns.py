"""Chats on the engine's one thread: a step at a time, decisions first, in turns, and none for nobody (contract 6)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from decision_server.errors import Refusal
from decision_server.generation import ChatTask, Token
from decision_server.scheduler import EngineDied, Scheduler
from decision_server.scoring import ScoringTask
from tests.serving.fake_chats import FakeChats, chat_task
from tests.serving.fake_engine import FakeEngine


class Held:
    """Work that the test lets through step by step."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def __call__(self, name: int) -> None:
        self.entered.release()
        assert self.go.acquire(timeout=30)


@contextmanager
def running(chats: FakeChats, engine: FakeEngine | None = None, queue_size: int = 8) -> Iterator[Scheduler]:
    scheduler = Scheduler(
        engine or FakeEngine(),
        queue_size=queue_size,
        observe=lambda score: None,
        on_failure=lambda error: None,
        chats=chats,
    )
    scheduler.start()
    try:
        yield scheduler
    finally:
        assert scheduler.stop(30)


def write(
    scheduler: Scheduler, task: ChatTask, seconds: float = 30, gone: Callable[[], bool] = lambda: False
) -> list[Token]:
    with scheduler.admit_chat(deadline=time.monotonic() + seconds) as ticket:
        return list(ticket.generate(task, gone=gone))


def decide(scheduler: Scheduler, questions: int) -> int:
    with scheduler.admit(deadline=time.monotonic() + 30) as ticket:
        tasks = [ScoringTask(tokens=(1, 2))] * questions
        return len(ticket.score(tasks, read=lambda place, score: score, gone=lambda: False))


def assert_open(gate: threading.Event) -> None:
    assert gate.wait(30)


def eventually(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit, "the condition was not met within 10 s"
        time.sleep(0.002)


def test_an_answer_ends_at_its_last_allowed_token() -> None:
    with running(FakeChats()) as scheduler:
        assert [token.piece for token in write(scheduler, chat_task(1, prompt=3))] == [b"1 ", b"2 ", b"3 "]


def test_a_decision_that_comes_while_a_chat_runs_waits_for_the_step_under_way_and_no_other() -> None:
    held = Held()
    chats, engine = FakeChats(work=held), FakeEngine()
    with running(chats, engine) as scheduler, ThreadPoolExecutor(2) as callers:
        chat = callers.submit(write, scheduler, chat_task(1, prompt=4, max_tokens=4))
        assert held.entered.acquire(timeout=30)
        asked = callers.submit(decide, scheduler, 5)
        eventually(lambda: scheduler.admitted == scheduler.admitted_chats == 1)
        time.sleep(0.05)
        held.go.release()
        assert asked.result(30) == 5
        assert len(chats.steps) <= 2  # the one under way, and the next, which begins once no question waits
        for _ in range(10):
            held.go.release()
        assert len(chat.result(30)) == 4


def test_a_request_waits_for_one_step_in_all_however_many_questions_it_has() -> None:
    order: list[str] = []
    gate, entered = threading.Event(), threading.Semaphore(0)

    def score(task: ScoringTask) -> None:
        order.append("question")
        entered.release()
        assert_open(gate)

    with (
        running(FakeChats(work=lambda name: order.append("step")), FakeEngine(score)) as scheduler,
        ThreadPoolExecutor(4) as callers,
    ):
        decisions = [callers.submit(decide, scheduler, 2)]
        assert entered.acquire(timeout=30)
        chat = callers.submit(write, scheduler, chat_task(1, max_tokens=3))
        decisions += [callers.submit(decide, scheduler, 2) for _ in range(2)]
        eventually(lambda: (len(scheduler._jobs), len(scheduler._chats)) == (3, 1))
        gate.set()
        assert [each.result(30) for each in decisions] == [2, 2, 2]
        assert len(chat.result(30)) == 3
    assert order == ["question", "step", *["question"] * 5, "step", "step"]


def test_under_a_load_that_never_pauses_a_chat_gets_a_step_for_every_request_that_waits() -> None:
    order: list[str] = []
    held = Held()

    def score(task: ScoringTask) -> None:
        order.append("question")
        held(0)

    with (
        running(FakeChats(work=lambda name: order.append("step")), FakeEngine(score)) as scheduler,
        ThreadPoolExecutor(5) as callers,
    ):
        calls = [callers.submit(decide, scheduler, 1)]
        assert held.entered.acquire(timeout=30)
        chat = callers.submit(write, scheduler, chat_task(1, max_tokens=3))
        eventually(lambda: len(scheduler._chats) == 1)
        for _ in range(3):  # the next comes before the one that runs is done
            calls.append(callers.submit(decide, scheduler, 1))
            eventually(lambda: len(scheduler._jobs) == 2)
            held.go.release()
            assert held.entered.acquire(timeout=30)
        assert len(chat.result(30)) == 3
        held.go.release()
        assert [call.result(30) for call in calls] == [1] * 4
    assert order == ["question", *["step", "question"] * 3]


def test_several_chats_take_turns_step_by_step() -> None:
    held = Held()
    chats = FakeChats(slots=2, work=held)
    with running(chats) as scheduler, ThreadPoolExecutor(2) as callers:
        first = callers.submit(write, scheduler, chat_task(1, max_tokens=4))
        assert held.entered.acquire(timeout=30)
        second = callers.submit(write, scheduler, chat_task(2, max_tokens=4))
        eventually(lambda: scheduler.admitted_chats == 2)
        time.sleep(0.05)
        for _ in range(8):
            held.go.release()
        first.result(30), second.result(30)
    assert chats.steps == [1, 2, 1, 2, 1, 2, 1, 2]


def test_a_chat_without_a_place_waits_until_one_is_given_back() -> None:
    chats = FakeChats(slots=1)
    with running(chats) as scheduler, ThreadPoolExecutor(3) as callers:
        answers = list(callers.map(lambda name: write(scheduler, chat_task(name)), (1, 2, 3)))
        assert [len(answer) for answer in answers] == [3, 3, 3]
    assert chats.most_open == 1
    assert chats.steps == sorted(chats.steps, key=chats.steps.index)  # one after the other


def test_nothing_is_written_for_a_caller_who_has_gone_and_the_place_is_free_again() -> None:
    held = Held()
    chats = FakeChats(slots=1, work=held)
    with running(chats) as scheduler, ThreadPoolExecutor(2) as callers:
        left = threading.Event()
        first = callers.submit(write, scheduler, chat_task(1, max_tokens=1000), gone=left.is_set)
        assert held.entered.acquire(timeout=30)
        left.set()
        with pytest.raises(Refusal) as caught:
            first.result(30)
        assert caught.value.code == "caller_gone"
        second = callers.submit(write, scheduler, chat_task(2, max_tokens=1))
        held.go.release()
        held.go.release()
        assert len(second.result(30)) == 1
    assert chats.steps == [1, 2]
    assert chats.closed[0] == 1


def test_a_chat_past_its_deadline_is_told_how_far_it_came() -> None:
    chats = FakeChats(work=lambda name: time.sleep(0.02))
    with running(chats) as scheduler:
        with pytest.raises(Refusal, match=r"with \d+ of at most 1000 tokens") as caught:
            write(scheduler, chat_task(1, max_tokens=1000), seconds=0.3)
        assert caught.value.code == "deadline_exceeded"
        done = len(chats.steps)
        assert decide(scheduler, 1) == 1
        assert len(chats.steps) <= done + 1


def test_chats_fill_places_of_their_own_and_decisions_are_answered_beside_them() -> None:
    held = Held()
    with running(FakeChats(slots=1, work=held), queue_size=1) as scheduler, ThreadPoolExecutor(4) as callers:
        calls = [callers.submit(write, scheduler, chat_task(name, max_tokens=1)) for name in (1, 2)]
        eventually(lambda: scheduler.admitted_chats == scheduler.chat_limit == 2)
        with pytest.raises(Refusal, match="2 chats are waiting or running, the limit is 2") as caught:
            write(scheduler, chat_task(3))
        assert caught.value.code == "queue_full"
        decisions = [callers.submit(decide, scheduler, 1) for _ in range(2)]
        eventually(lambda: scheduler.admitted == 2)  # as many as without any chat
        with pytest.raises(Refusal, match="2 requests are waiting"):
            decide(scheduler, 1)
        for _ in range(2):
            held.go.release()
        assert [len(call.result(30)) for call in calls] == [1, 1]
        assert [call.result(30) for call in decisions] == [1, 1]


def test_decisions_fill_no_place_of_a_chat() -> None:
    gate = threading.Event()
    engine = FakeEngine(lambda task: assert_open(gate))
    with running(FakeChats(), engine, queue_size=1) as scheduler, ThreadPoolExecutor(3) as callers:
        decisions = [callers.submit(decide, scheduler, 1) for _ in range(2)]
        eventually(lambda: scheduler.admitted == 2)
        chat = callers.submit(write, scheduler, chat_task(1, max_tokens=1))
        eventually(lambda: scheduler.admitted_chats == 1)
        gate.set()
        assert [each.result(30) for each in decisions] == [1, 1]
        assert len(chat.result(30)) == 1


def test_a_refused_chat_is_told_when_the_first_of_those_under_way_has_ended() -> None:
    chats = FakeChats(slots=1, work=lambda name: time.sleep(0.05))
    with running(chats, queue_size=1) as scheduler, ThreadPoolExecutor(2) as callers:
        left = threading.Event()
        long = callers.submit(write, scheduler, chat_task(1, max_tokens=1000), gone=left.is_set)
        eventually(lambda: len(chats.steps) >= 3)
        waiting = callers.submit(write, scheduler, chat_task(2, max_tokens=1))  # short, but it has not begun
        eventually(lambda: scheduler.admitted_chats == 2)
        with pytest.raises(Refusal) as caught:
            write(scheduler, chat_task(3))
        told = caught.value.retry_after_seconds
        assert told is not None
        assert 25 <= told <= 30  # 1000 steps of 50 ms and more would be 50 s: by its deadline, 30 s, it is over
        left.set()
        with pytest.raises(Refusal):
            long.result(30)
        waiting.result(30)


def test_a_chat_near_its_end_is_soon_out_of_the_way() -> None:
    held = Held()
    chats = FakeChats(slots=1, work=held)
    with running(chats, queue_size=1) as scheduler, ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(write, scheduler, chat_task(1, max_tokens=3))]
        for _ in range(2):
            assert held.entered.acquire(timeout=30)
            held.go.release()
        assert held.entered.acquire(timeout=30)
        calls.append(callers.submit(write, scheduler, chat_task(2, max_tokens=1)))
        eventually(lambda: scheduler.admitted_chats == 2)
        with pytest.raises(Refusal) as caught:
            write(scheduler, chat_task(3))
        told = caught.value.retry_after_seconds
        assert told is not None
        assert told < 10  # one step is left, and its deadline is 30 s away
        for _ in range(2):
            held.go.release()
        for call in calls:
            call.result(30)


def test_a_drain_lets_an_admitted_chat_end_and_admits_no_other() -> None:
    held = Held()
    with running(FakeChats(work=held)) as scheduler, ThreadPoolExecutor(1) as callers:
        chat = callers.submit(write, scheduler, chat_task(1))
        assert held.entered.acquire(timeout=30)
        scheduler.begin_drain()
        with pytest.raises(Refusal) as caught:
            write(scheduler, chat_task(2))
        assert caught.value.code == "draining"
        assert not scheduler.wait_idle(0.01)
        for _ in range(3):
            held.go.release()
        assert len(chat.result(30)) == 3
        assert scheduler.wait_idle(30)


def test_a_step_that_fails_fails_its_chat_and_ends_the_engine() -> None:
    def fail(name: int) -> None:
        raise RuntimeError("told to die")

    engine = FakeEngine()
    with running(FakeChats(work=fail), engine) as scheduler:
        with pytest.raises(EngineDied):
            write(scheduler, chat_task(1))
        with pytest.raises(Refusal) as caught:
            decide(scheduler, 1)
        assert caught.value.code == "engine_failed"
        assert engine.closed.wait(30)
