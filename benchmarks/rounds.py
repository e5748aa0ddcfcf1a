"""Interleaved rounds: in each, every contestant is asked the same requests, in an order drawn anew. The first is thrown
away. Pure but for what `ask` does.

The limit (a) evaluates the tokens that ours really evaluated. When its turn comes before ours, it goes by what ours had
cached in the round before; where that was not so this time, it is asked again after the round.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.field import Answer
from benchmarks.workloads import LIMIT_DEFAULT, LIMIT_OWN, OURS, Prepare, Request, Workload

Plans = list[tuple[int, ...]]
Ask = Callable[[str, Sequence[Request], Sequence[tuple[int, ...]]], list[Answer]]
_LIMITS = (LIMIT_OWN, LIMIT_DEFAULT)


@dataclass
class Rounds:
    """seconds[contestant][round][request]. cached, evaluated: tokens of ours in all counted rounds.
    asked_again: how often a limit's guess was wrong."""

    seconds: dict[str, list[list[float]]] = field(default_factory=dict)
    cached: int = 0
    evaluated: int = 0
    asked_again: int = 0
    orders: list[list[str]] = field(default_factory=list)


def run(
    workload: Workload, ask: Ask, prepare: Prepare, *, contestants: Sequence[str], rounds: int, seed: int
) -> Rounds:
    """rounds: those that count, after one that does not."""
    drawn = random.Random(f"{seed} {workload.name}")
    result = Rounds(seconds={name: [] for name in contestants})
    guess: Plans = []
    for number in range(rounds + 1):
        requests = workload.make(drawn, prepare)
        order = drawn.sample(list(contestants), len(contestants))
        answers: dict[str, list[Answer]] = {}
        used: dict[str, Plans] = {}
        for name in order:
            mine = requests[:1] if name in workload.only_first else requests
            if name in _LIMITS and len(guess) != len(requests):
                continue  # nothing to go by before ours has been asked once
            plans: Plans = guess if name in _LIMITS else [()] * len(mine)
            answers[name], used[name] = ask(name, mine, plans), plans
        actual = [answer.cached for answer in answers[OURS]]
        for name in _LIMITS:
            if name in contestants and used.get(name) != actual:
                answers[name] = ask(name, requests, actual)
                result.asked_again += number > 0
        guess = actual
        if number == 0:
            continue
        result.orders.append(order)
        for name, given in answers.items():
            result.seconds[name].append([answer.seconds for answer in given])
        lengths = [len(asked.tokens) for request in requests for asked in request.asked]
        cached = sum(sum(plan) for plan in actual)
        result.cached += cached
        result.evaluated += sum(lengths) - cached
    return result
