"""Asking a target all items: in the file's order, so many at once, going on where a journal ends."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Protocol

from client.decisions import Answer, Choice, Decision, DecisionError, JsonValue, Question
from client.errors import JobFailed
from client.evaluation.item import Item
from client.evaluation.journal import Journal
from client.evaluation.outcomes import GIVEN, REVERSED, Outcome, keep
from client.transport.failures import KINDS

BUSY = frozenset({429, 503})
NO_WAY = frozenset({401, 403, 404, 502})  # nobody there, no right, no such endpoint: equal for every item
TIMEOUTS = 3  # askings that may end at the client's own deadline, which a busy server may have used up
PAUSE_SECONDS = 1.0
ONE = "q"  # the name of the one question in a request; it never reaches the model


class Target(Protocol):
    """What is asked; `client.decisions.DecisionClient` is one. Safe to use from many threads at once."""

    def decide(self, decision: Decision) -> Answer: ...

    def ask(
        self,
        state: JsonValue,
        questions: Mapping[str, Question],
        *,
        readout: str | None = None,
        prompt_version: str | None = None,
    ) -> Mapping[str, Answer]: ...


def ask_all(
    items: Sequence[Item],
    target: Target,
    *,
    concurrency: int,
    reversed_too: bool,
    readout: str | None,
    prompt_version: str | None,
    journal: Journal,
    progress: Callable[[Outcome], None],
    waiting: Callable[[str], None] = lambda why: None,
    pause_seconds: float = PAUSE_SECONDS,
) -> tuple[Outcome, ...]:
    """One outcome for each item, and, with reversed_too, a second one for those with options to turn round; all in the
    items' order, those of the journal included. The reversed askings begin when all others are answered.

    readout, prompt_version: for all items; None leaves it to the item, and then to the target. progress: called for
    each new outcome, by one thread at a time. A target that says 503 is asked again for as long as it says so; waiting
    is told. Raises JobFailed where it cannot be reached; the journal then has what was answered.
    """
    done = {(outcome.item_id, outcome.order): outcome for outcome in journal.outcomes}
    session = 1 + max((outcome.session for outcome in journal.outcomes), default=-1)
    numbers = itertools.count(1 + max((outcome.started for outcome in journal.outcomes), default=-1))
    stop, telling = threading.Event(), threading.Lock()

    def pause(item: Item, why: DecisionError) -> bool:
        """Whether to go on asking."""
        with telling:
            waiting(f"item {item.id}: {why.code}: {why.message}; it is asked again")
        return not stop.wait(pause_seconds)

    def work(item: Item, order: str) -> None:
        if stop.is_set():
            return
        started, began, clock = next(numbers), time.time(), time.monotonic()
        answer, error = _until_told(
            lambda: _ask(item, order, target, readout, prompt_version), lambda why: pause(item, why)
        )
        if answer is None and error is None:
            return
        outcome = Outcome(
            item_id=item.id,
            order=order,
            answer=None if answer is None else keep(answer),
            seconds=time.monotonic() - clock,
            began=began,
            started=started,
            session=session,
            error=error,
        )
        journal.append(outcome)
        with telling:
            done[item.id, order] = outcome
            progress(outcome)

    for order in (GIVEN, REVERSED) if reversed_too else (GIVEN,):
        todo = [item for item in items if (order == GIVEN or turns(item)) and (item.id, order) not in done]
        with ThreadPoolExecutor(concurrency, thread_name_prefix="evaluate") as workers:
            asked = [workers.submit(work, item, order) for item in todo]
            try:
                wait(asked, return_when=FIRST_EXCEPTION)
            finally:  # after Ctrl-C, too: those under way are written down, no other is begun
                stop.set()
                workers.shutdown(wait=True, cancel_futures=True)
                stop.clear()
        for each in asked:
            if not each.cancelled():
                each.result()
    wanted = ((item.id, order) for order in (GIVEN, REVERSED) for item in items)
    return tuple(done[key] for key in wanted if key in done)


def turns(item: Item) -> bool:
    """Whether its options can be listed the other way round: levels have an order of their own, yes and no none."""
    return isinstance(item.question, (Choice, Decision))


def _ask(item: Item, order: str, target: Target, readout: str | None, prompt_version: str | None) -> Answer:
    question = _turned(item.question) if order == REVERSED else item.question
    if isinstance(question, Decision):
        chosen, version = readout or question.readout, prompt_version or question.prompt_version
        return target.decide(replace(question, readout=chosen, prompt_version=version))
    return target.ask(item.state, {ONE: question}, readout=readout, prompt_version=prompt_version)[ONE]


def _until_told(ask: Callable[[], Answer], pause: Callable[[DecisionError], bool]) -> tuple[Answer | None, str | None]:
    """The answer, or why there is none, or neither where `pause` says to stop. Raises JobFailed."""
    timeouts = 0
    while True:
        try:
            return ask(), None
        except DecisionError as error:
            status = error.status or KINDS[error.code].status
            if status in NO_WAY:
                raise JobFailed(f"{error}\nWhat was answered is kept. To go on: the same command again") from error
            mine = error.status is None and error.code == "deadline_exceeded"
            timeouts += mine
            if status not in BUSY and not (mine and timeouts < TIMEOUTS):
                return None, f"{error.code}: {error.message}"
            if not pause(error):
                return None, None


def _turned(question: Question | Decision) -> Question | Decision:
    match question:
        case Decision():
            return replace(question, options=question.options[::-1])
        case Choice():
            return replace(question, options=dict(reversed(list(question.options.items()))))
    return question
