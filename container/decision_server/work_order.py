"""Which question the engine scores next, and how long a new request would wait. Pure: no threads, no clock.

Work is taken question by question. The request with the least predicted work goes first, but later requests may
overtake an earlier one only MAX_OVERTAKEN times before it gets its next question. So a request of 64 decisions does not
hold single ones up, and a stream of single ones does not starve it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from decision_server.scoring import NotFinite, Score, ScoringTask

MAX_OVERTAKEN = 4

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Taken(Generic[T]):
    """One question's score, or what was made of it, and how long the question waited before the engine took it."""

    value: T
    queue_seconds: float


@dataclass(kw_only=True, eq=False)
class Work(Generic[T]):
    """What one request has the engine do. Changed under the scheduler's lock only."""

    arrival: int
    submitted_at: float
    deadline: float
    arrived: list[T] = field(default_factory=list)  # done, and not yet fetched by the caller's thread
    spoiled: NotFinite | None = None  # why nothing more of it is done

    def fetch(self) -> list[T]:
        """What has arrived since the last time."""
        fetched, self.arrived = self.arrived, []
        return fetched


@dataclass(kw_only=True, eq=False)
class Job(Work[Taken[Score]]):
    """The questions of one request."""

    tasks: tuple[ScoringTask, ...]
    costs: tuple[int, ...]  # predicted tokens to evaluate, a task each
    scored: int = 0
    overtaken: int = 0
    stepped_aside: bool = False  # for a chat's step, which a request does once at most

    @property
    def next_task(self) -> ScoringTask:
        return self.tasks[self.scored]

    @property
    def next_cost(self) -> int:
        return self.costs[self.scored]

    @property
    def remaining(self) -> int:
        """Predicted tokens still to evaluate."""
        return sum(self.costs[self.scored :])

    @property
    def finished(self) -> bool:
        return self.scored == len(self.tasks)

    def add(self, taken: Taken[Score]) -> None:
        self.scored += 1
        self.arrived.append(taken)


def predicted_costs(tasks: Sequence[ScoringTask]) -> tuple[int, ...]:
    """Tokens each task will really evaluate, continuations too, if only its predecessor's prefix is reused."""
    costs = []
    previous: tuple[int, ...] = ()
    for task in tasks:
        reused = max(
            (n for n in task.shared_lengths if task.tokens[:n] == previous[:n] and n <= len(previous)), default=0
        )
        costs.append(len(task.tokens) - reused + sum(map(len, task.continuations)))
        previous = task.tokens
    return tuple(costs)


def take_next(jobs: Collection[Job]) -> Job:
    """The job whose next question comes now; counts the overtaking that this means. `jobs` is not empty."""
    waiting = [job for job in jobs if job.overtaken >= MAX_OVERTAKEN]
    if waiting:
        chosen = min(waiting, key=lambda job: job.arrival)
    else:
        chosen = min(jobs, key=lambda job: (job.remaining, job.arrival))
    for job in jobs:
        if job.arrival < chosen.arrival:
            job.overtaken += 1
    chosen.overtaken = 0
    return chosen


def tokens_ahead(jobs: Collection[Job], costs: Sequence[int], running_cost: int) -> int:
    """Predicted tokens the engine evaluates for others before a new job of these costs is done."""
    own = sum(costs)
    ahead = running_cost
    for job in jobs:
        if job.remaining <= own:
            ahead += job.remaining
        else:
            ahead += (job.overtaken + len(costs)) // MAX_OVERTAKEN * job.next_cost
    return ahead
