from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from benchmarks import rounds, texts
from benchmarks.field import Answer
from benchmarks.workloads import (
    FRESH,
    LIMIT_DEFAULT,
    LIMIT_OWN,
    OURS,
    RESTORED,
    Asked,
    Part,
    Prepare,
    Request,
    Workload,
    all_workloads,
    request,
)

CONTESTANTS = (OURS, LIMIT_OWN, LIMIT_DEFAULT, FRESH)


def prepare(decisions: Sequence[dict[str, Any]]) -> tuple[Asked, ...]:
    """A token a word: three at first, then state and question, by criterion-first the other way round."""
    made = []
    for decision in decisions:
        state, rest = len(str(decision["state"]).split()), len(str(decision["question"]).split())
        length = 3 + state + rest
        shared = 3 + (rest if "prompt_version" in decision else state)
        made.append(
            Asked(
                tokens=tuple(range(length)),
                shared_lengths=(3, shared),
                label_ids=(1,),
                text="",
            )
        )
    return tuple(made)


def two_singles(drawn: random.Random, prepare: Prepare) -> list[Request]:
    return [request([texts.decision(drawn, "d", texts.sentence(drawn))], prepare) for _ in range(2)]


WORKLOAD = Workload(
    name="w",
    make=two_singles,
    contestants=CONTESTANTS,
    parts=(Part(name="w", title="w"),),
    rounds=3,
    quick_rounds=1,
    only_first=frozenset({FRESH}),
)


class Field:
    """Answers in a time that says who was asked; ours has `cached` tokens in each round."""

    def __init__(self, cached: Sequence[int]) -> None:
        self.calls: list[tuple[str, int, list[tuple[int, ...]]]] = []
        self._cached = iter(cached)

    def ask(self, name: str, requests: Sequence[Request], plans: Sequence[tuple[int, ...]]) -> list[Answer]:
        self.calls.append((name, len(requests), list(plans)))
        if name == OURS:
            now = next(self._cached)
            return [Answer(seconds=1.0, cached=(now,)) for _ in requests]
        return [Answer(seconds=2.0) for _ in requests]


def run(field: Field, count: int) -> rounds.Rounds:
    return rounds.run(WORKLOAD, field.ask, prepare, contestants=CONTESTANTS, rounds=count, seed=3)


def test_every_contestant_is_asked_once_a_round_in_orders_that_change() -> None:
    field = Field([3] * 13)
    measured = run(field, 12)
    assert {tuple(sorted(order)) for order in measured.orders} == {tuple(sorted(CONTESTANTS))}
    assert len({tuple(order) for order in measured.orders}) > 3
    assert measured.seconds[OURS] == [[1.0, 1.0]] * 12
    assert measured.seconds[FRESH] == [[2.0]] * 12  # asked the first request alone
    assert len(field.calls) == 13 * len(CONTESTANTS)


def test_equal_seeds_give_equal_orders() -> None:
    assert run(Field([3] * 6), 5).orders == run(Field([3] * 6), 5).orders


def test_the_limits_evaluate_what_ours_really_evaluated_also_when_that_changes() -> None:
    field = Field([0, 3, 3, 7])
    measured = run(field, 3)
    final = {}
    per_round: list[dict[str, list[tuple[int, ...]]]] = []
    for name, _, plans in field.calls:
        if name == OURS:
            per_round.append({})
        final[name] = plans
    assert final[LIMIT_OWN] == final[LIMIT_DEFAULT] == [(7,), (7,)]
    assert measured.asked_again >= 2  # both limits went by 3 in the last round where they came before ours
    assert measured.cached == 2 * (3 + 3 + 7)


def test_the_first_round_counts_for_nothing() -> None:
    measured = run(Field([100, 3]), 1)
    assert measured.cached == 6
    assert len(measured.seconds[OURS]) == len(measured.orders) == 1


def test_a_part_takes_its_requests_and_sums_them_where_it_says_so() -> None:
    assert Part(name="p", title="p", start=1).of([1.0, 2.0, 3.0]) == [2.0, 3.0]
    assert Part(name="p", title="p", stop=1).of([1.0, 2.0]) == [1.0]
    assert Part(name="p", title="p", summed=True).of([1.0, 2.0]) == [3.0]
    assert Part(name="p", title="p", start=1).of([1.0]) == []  # not asked


def test_workloads_make_new_states_of_the_length_they_announce() -> None:
    for workload in all_workloads():
        drawn = random.Random(1)
        first, second = workload.make(drawn, prepare), workload.make(drawn, prepare)
        states = [str(one.decisions[0]["state"]) for one in (*first, *second)]
        expected = 2 if workload.name == "questions" else len(states)
        assert len(set(states)) == expected, workload.name
        if workload.name == "single":
            assert {len(one.asked[0].tokens) for one in first} == {150}
        if RESTORED in workload.contestants:
            for one in first:
                assert len({asked.tokens[: asked.state_end] for asked in one.asked}) == 1
