"""One engine, one thread that owns it, a bounded number of requests in front of it (contract 8; F4, F7, F18).

Knows admission, deadlines, draining and the engine's death; leaves the order of questions to `work_order`, that of
chats to `chat_turns`, and what a score means to its callers. Questions go first: a chat advances by one step, a token
or a small piece of its prompt, where no request waits that has waited for a step before (contract 6). No ctypes, no
Flask.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from decision_server.admission import Places
from decision_server.chat_turns import Chat, Turns
from decision_server.errors import Refusal
from decision_server.generation import ChatEngine, ChatTask, NoChats, Token
from decision_server.scoring import DECODE_TOKENS, NotFinite, Score, ScoringEngine, ScoringStopped, ScoringTask
from decision_server.work_order import Job, Taken, Work, predicted_costs, take_next, tokens_ahead

_GONE_CHECK_SECONDS = 0.2  # how often a waiting request looks whether its caller is still there
T = TypeVar("T")
_RATE_MEMORY = 0.9  # share of the past that each new measurement of the prefill rate keeps


class EngineDied(Exception):
    """The engine failed, or could give no numbers, on this very request; the cause is chained."""


class Scheduler:
    """Admits at most 1 + queue_size requests of decisions, scores their questions one at a time and writes answers to
    chats, of which it admits, apart from those, as many as run at once and queue_size more.

    observe: called with every score, on the engine thread. on_failure: called once, on the engine thread, when the
    engine raises; the scheduler then refuses everything.
    """

    def __init__(
        self,
        engine: ScoringEngine,
        *,
        queue_size: int,
        observe: Callable[[Score], None],
        on_failure: Callable[[Exception], None],
        chats: ChatEngine | None = None,
    ) -> None:
        self._engine = engine
        self._observe = observe
        self._on_failure = on_failure
        self._changed = threading.Condition()
        self._jobs: dict[Job, threading.Event] = {}
        self._chats: dict[Chat, threading.Event] = {}
        chat_engine = chats or NoChats()
        self._turns = Turns(chat_engine)
        self._places = Places(1 + queue_size, of="requests")
        self._chat_places = Places(chat_engine.slots + queue_size, of="chats")
        self._running: Job | None = None
        self._in_step = False
        self._arrivals = 0
        self._draining = False
        self._stopping = False
        self._failure: Exception | None = None
        self._culprit: Work[Any] | None = None
        self._recent_tokens = 0.0
        self._recent_seconds = 0.0
        self._chat_step_seconds = 0.0
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def admitted(self) -> int:
        """Requests of decisions waiting or running now. Takes no lock."""
        return self._places.taken

    @property
    def admitted_chats(self) -> int:
        """Takes no lock."""
        return self._chat_places.taken

    @property
    def chat_limit(self) -> int:
        """Chats that may be waiting or running."""
        return self._chat_places.limit

    @property
    def tokens_per_second(self) -> float | None:
        """The measured rate of evaluation, recent work first; None before the first score. Takes no lock."""
        return self._recent_tokens / self._recent_seconds if self._recent_seconds > 0 else None

    def admit(self, *, deadline: float) -> Ticket:
        """A place for one request of decisions until `deadline` (time.monotonic). Never waits. Raises Refusal."""
        with self._changed:
            self._refuse_if_closed()
            self._places.take(lambda: self._seconds(min((job.remaining for job in self._jobs), default=0)))
            return Ticket(self, self._places, deadline)

    def admit_chat(self, *, deadline: float) -> Ticket:
        """The same for one chat, of the places that chats have."""
        with self._changed:
            self._refuse_if_closed()
            self._chat_places.take(self._chat_seconds)
            return Ticket(self, self._chat_places, deadline)

    def begin_drain(self) -> None:
        """From now on nothing is admitted; what is admitted goes on."""
        with self._changed:
            self._draining = True

    def wait_idle(self, timeout: float) -> bool:
        """True once no request is admitted, False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.admitted == self.admitted_chats == 0, timeout)

    def stop(self, timeout: float) -> bool:
        """Refuses what still waits, stops the running question, closes the engine. False: a decode still ran."""
        with self._changed:
            self._draining = self._stopping = True
            self._wake_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    # the engine thread

    def _run(self) -> None:
        try:
            while (work := self._take()) is not None:
                try:
                    match work:
                        case Job():
                            self._score(work)
                        case Chat():
                            self._say(work)
                except Exception as error:  # noqa: BLE001 - whatever the engine raises, it cannot be trusted after it
                    self._fail(work, error)
                    return
        finally:
            self._engine.close()

    def _take(self) -> Job | Chat | None:
        with self._changed:
            self._in_step = False
            while True:
                if self._stopping:
                    return None
                now = time.monotonic()
                live = [job for job in self._jobs if job.deadline > now]
                chat = self._turns.next([chat for chat in self._chats if chat.deadline > now], self._chats)
                if chat is not None and not any(job.stepped_aside for job in live):
                    for job in live:
                        job.stepped_aside = True
                    self._in_step = True
                    return chat
                if live:
                    self._running = take_next(live)
                    return self._running
                self._changed.wait()  # callers of work past its deadline remove it themselves

    def _score(self, job: Job) -> None:
        started = time.monotonic()
        try:
            score = self._engine.score(job.next_task, stop=partial(self._is_over, job))
            self._observe(score)
        except ScoringStopped:
            self._set_down()
            return
        except NotFinite as error:
            self._spoil(job, error)
            return
        self._store(job, Taken(value=score, queue_seconds=started - job.submitted_at))

    def _say(self, chat: Chat) -> None:
        started = time.monotonic()
        try:
            token = self._turns.step(chat, self._chats)
        except NotFinite as error:
            self._spoil(chat, error)
            self._turns.give_back(self._chats)
            return
        seconds = time.monotonic() - started
        with self._changed:
            past = self._chat_step_seconds or seconds
            self._chat_step_seconds = past * _RATE_MEMORY + seconds * (1 - _RATE_MEMORY)
            if token is None:
                return
            news = self._chats.get(chat)
            if news is None:  # its caller has left
                return
            chat.add(token)
            if chat.finished:
                del self._chats[chat]
            news.set()

    def _is_over(self, job: Job) -> bool:
        """Whether nobody waits for the job any more. Takes no lock: a late answer costs a decode, no more."""
        return self._stopping or job not in self._jobs or time.monotonic() >= job.deadline

    def _set_down(self) -> None:
        with self._changed:
            self._running = None

    def _spoil(self, work: Job | Chat, error: NotFinite) -> None:
        """This request is over; others go on."""
        with self._changed:
            self._running = None
            work.spoiled = error
            news = self._jobs.pop(work, None) if isinstance(work, Job) else self._chats.pop(work, None)
            if news is not None:
                news.set()

    def _store(self, job: Job, taken: Taken[Score]) -> None:
        score = taken.value
        with self._changed:
            self._running = None
            answers = score.answer_rows
            self._recent_tokens = self._recent_tokens * _RATE_MEMORY + score.evaluated_tokens + answers
            self._recent_seconds = self._recent_seconds * _RATE_MEMORY + score.forward_seconds
            news = self._jobs.get(job)
            if news is None:  # its caller has left
                return
            job.add(taken)
            if job.finished:
                del self._jobs[job]
            news.set()

    def _fail(self, work: Work[Any], error: Exception) -> None:
        with self._changed:
            self._running, self._failure, self._culprit = None, error, work
            self._wake_all()
        self._on_failure(error)

    # under the lock

    def _refuse_if_closed(self) -> None:
        if self._failure is not None:
            raise Refusal("engine_failed", "the engine failed and this server is ending; retry", retry_after_seconds=5)
        if self._draining:
            raise Refusal("draining", "this server is shutting down; retry on another one", retry_after_seconds=1)

    def _wake_all(self) -> None:
        for news in (*self._jobs.values(), *self._chats.values()):
            news.set()
        self._changed.notify_all()

    def _seconds(self, tokens: float) -> int:
        """Whole seconds, at least 1, that evaluating `tokens` takes at the measured rate."""
        rate = self.tokens_per_second
        return max(1, math.ceil(tokens / rate)) if rate else 1

    def _chat_seconds(self) -> int:
        """Whole seconds, at least 1, until the first chat under way has ended: at its last token, all taking turns, or
        at its deadline. Longer only where decisions keep coming."""
        now = time.monotonic()
        begun = [chat for chat in self._chats if chat.last_turn]
        turn = len(begun) * self._chat_step_seconds
        ends = [min(chat.left * turn, chat.deadline - now) for chat in begun]
        return max(1, math.ceil(min(ends or [chat.deadline - now for chat in self._chats], default=0)))

    # for tickets

    def _submit(self, tasks: Sequence[ScoringTask], deadline: float) -> tuple[Job, threading.Event]:
        costs = predicted_costs(tasks)
        with self._changed:
            self._refuse_if_closed()
            now = time.monotonic()
            # a question whose caller has left is still in the engine, but no longer among the jobs
            stray = self._running.next_cost if self._running is not None and self._running not in self._jobs else 0
            stray = min(stray, DECODE_TOKENS)  # it stops after the decode that it is in
            ahead = tokens_ahead(self._jobs, costs, stray)
            rate = self.tokens_per_second
            needed = (ahead + sum(costs)) / rate if ahead and rate else 0.0
            left = deadline - now
            if needed > left:  # only where others are ahead: alone, a retry would not find it any shorter
                raise Refusal(
                    "wait_too_long",
                    f"the answer would take about {needed:.1f} s and {left:.1f} s are left before the deadline; "
                    "retry later or ask fewer decisions at once",
                    retry_after_seconds=max(1, math.ceil(needed - left)),
                )
            self._arrivals += 1
            job = Job(
                arrival=self._arrivals,
                tasks=tuple(tasks),
                costs=costs,
                submitted_at=now,
                deadline=deadline,
                stepped_aside=self._in_step,  # it waits for the rest of that one
            )
            news = self._jobs[job] = threading.Event()
            self._changed.notify_all()
            return job, news

    def _submit_chat(self, task: ChatTask, deadline: float) -> tuple[Chat, threading.Event]:
        with self._changed:
            self._refuse_if_closed()
            self._arrivals += 1
            chat = Chat(arrival=self._arrivals, task=task, submitted_at=time.monotonic(), deadline=deadline)
            news = self._chats[chat] = threading.Event()
            self._changed.notify_all()
            return chat, news

    def _fetch(self, work: Work[T], news: threading.Event) -> list[T]:
        """What has arrived since the last time. Raises where nothing will arrive any more."""
        with self._changed:
            news.clear()
            if work.arrived:
                return work.fetch()
            if work.spoiled is not None:
                raise EngineDied("the model gave numbers that are not finite on this request") from work.spoiled
            if work is self._culprit:
                raise EngineDied("the engine failed on this request") from self._failure
            if self._failure is not None or self._stopping:
                self._refuse_if_closed()
            return []

    def _withdraw(self, work: Job | Chat) -> None:
        with self._changed:
            match work:
                case Job():
                    self._jobs.pop(work, None)
                case Chat():
                    self._chats.pop(work, None)
                    self._changed.notify_all()  # its place in the engine may be another chat's turn

    def _release(self, places: Places) -> None:
        with self._changed:
            places.give_back()
            self._changed.notify_all()


class Ticket:
    """One admitted request's place; a context manager. Leaving it gives the place back and withdraws its work."""

    def __init__(self, scheduler: Scheduler, places: Places, deadline: float) -> None:
        self._scheduler = scheduler
        self._places = places
        self._deadline = deadline
        self._work: Job | Chat | None = None

    def __enter__(self) -> Ticket:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._work is not None:
            self._scheduler._withdraw(self._work)
        self._scheduler._release(self._places)

    def score(
        self,
        tasks: Sequence[ScoringTask],
        *,
        read: Callable[[int, Score], T],
        gone: Callable[[], bool],
        so_far: Callable[[int], tuple[int, int]] | None = None,
    ) -> list[Taken[T]]:
        """What `read` makes of each task's score, in their order; blocks until all are there. Called once.

        read: called on this thread with a task's index as soon as its score is there; the score is then let go of.
        gone: whether the caller has hung up; asked now and then.
        so_far: by the number of tasks scored, how many of how many questions of the caller's are answered by them; None
        where each task is a question.
        Raises Refusal (predicted wait too long, deadline, draining, engine failed, caller gone), EngineDied, and what
        `read` raises; no further question of this request runs after that, and one that runs is stopped.
        """
        self._work, news = self._scheduler._submit(tasks, self._deadline)
        job = self._work
        results: list[Taken[T]] = []
        while True:
            self._wait(news)
            for taken in self._scheduler._fetch(job, news):
                value = read(len(results), taken.value)
                results.append(Taken(value=value, queue_seconds=taken.queue_seconds))
            if len(results) == len(tasks):
                return results
            if time.monotonic() >= self._deadline:
                done, of = so_far(len(results)) if so_far else (len(results), len(tasks))
                raise Refusal(
                    "deadline_exceeded",
                    f"the deadline passed with {done} of {of} questions scored; "
                    "the others are not run; retry later or ask fewer decisions at once",
                )
            if gone():
                raise Refusal("caller_gone", "the caller closed the connection")

    def generate(self, task: ChatTask, *, gone: Callable[[], bool]) -> Iterator[Token]:
        """The answer's tokens as they come, up to the one that ends it or to max_tokens. Called once.

        Raises what `score` raises; a chat whose caller has left the ticket is not worked on any more.
        """
        self._work, news = self._scheduler._submit_chat(task, self._deadline)
        chat = self._work
        while True:
            self._wait(news)
            yield from self._scheduler._fetch(chat, news)
            if chat.finished and not chat.arrived:
                return
            if time.monotonic() >= self._deadline:
                raise Refusal(
                    "deadline_exceeded",
                    f"the deadline passed with {chat.said} of at most {task.max_tokens} tokens written; "
                    "retry later or ask for fewer",
                )
            if gone():
                raise Refusal("caller_gone", "the caller closed the connection")

    def _wait(self, news: threading.Event) -> None:
        news.wait(max(0.0, min(_GONE_CHECK_SECONDS, self._deadline - time.monotonic())))
