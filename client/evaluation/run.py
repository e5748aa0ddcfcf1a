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
TRIES = 3  # of a decision whose answer is a fault that may pass, or the client's own deadline
IN_A_ROW = 5  # decisions that end so one after another: the target is broken, and the others would not do better
PAUSE_SECONDS = 1.0
GO_ON = "What was answered is kept. To go on: the same command again"
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
    each new outcome, by one thread at a time. waiting: told of each that is asked again. A target that says 503 is
    asked for as long as it says so. Another 5xx, and the deadline, say nothing of the decision: it is asked TRIES
    times, and what then comes back is `passing` and not in the journal. Raises JobFailed where the target cannot be
    reached, or IN_A_ROW decisions end so; the journal then has what was answered.
    """
    done = {(outcome.item_id, outcome.order): outcome for outcome in journal.outcomes}
    session = 1 + max((outcome.session for outcome in journal.outcomes), default=-1)
    numbers = itertools.count(1 + max((outcome.started for outcome in journal.outcomes), default=-1))
    stop, telling = threading.Event(), threading.Lock()
    row = 0

    def pause(item: Item, why: DecisionError) -> bool:
        """Whether to go on asking."""
        with telling:
            waiting(f"item {item.id}: {why.code}: {why.message}; it is asked again")
        return not stop.wait(pause_seconds)

    def work(item: Item, order: str) -> None:
        if stop.is_set():
            return
        try:
            ask(item, order)
        except BaseException:  # no worker begins another one meanwhile
            stop.set()
            raise

    def ask(item: Item, order: str) -> None:
        nonlocal row
        started, began, clock = next(numbers), time.time(), time.monotonic()
        told = _until_told(lambda: _ask(item, order, target, readout, prompt_version), lambda why: pause(item, why))
        if told is None:
            return
        answer, error = (told, None) if isinstance(told, Answer) else (None, told)
        passing = error is not None and not _is_result(error)
        outcome = Outcome(
            item_id=item.id,
            order=order,
            answer=None if answer is None else keep(answer),
            seconds=time.monotonic() - clock,
            began=began,
            started=started,
            session=session,
            error=None if error is None else f"{error.code}: {error.message}",
            concurrency=concurrency,
            passing=passing,
        )
        if not passing:
            journal.append(outcome)
        with telling:
            done[item.id, order] = outcome
            progress(outcome)
            row = row + 1 if passing else 0
            if row >= IN_A_ROW:
                raise JobFailed(f"{row} decisions in a row were not answered; the last: {outcome.error}\n{GO_ON}")

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


def _until_told(ask: Callable[[], Answer], pause: Callable[[DecisionError], bool]) -> Answer | DecisionError | None:
    """The answer, or why there is none; None where `pause` says to stop. Raises JobFailed."""
    faults = 0
    while True:
        try:
            return ask()
        except DecisionError as error:
            status = _status(error)
            if status in NO_WAY:
                raise JobFailed(f"{error}\n{GO_ON}") from error
            if status not in BUSY:
                faults += 1
                if _is_result(error) or faults >= TRIES:
                    return error
            if not pause(error):
                return None


def _is_result(error: DecisionError) -> bool:
    """Whether it says something of the decision: it is refused, or the answer to it is none."""
    return _status(error) < 500


def _status(error: DecisionError) -> int:
    return error.status or KINDS[error.code].status


def _turned(question: Question | Decision) -> Question | Decision:
    match question:
        case Decision():
            return replace(question, options=question.options[::-1])
        case Choice():
            return replace(question, options=dict(reversed(list(question.options.items()))))
    return question
