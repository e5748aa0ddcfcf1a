"""The engine tasks of a request: grouped by what they share, each baseline at most once."""

from __future__ import annotations

from decision_server.plans import Letters, Likelihood, Plan, RotatedLetters
from decision_server.scoring import ScoringTask
from decision_server.work_list import answered, work_list


def task(*tokens: int, shared: int = 1) -> ScoringTask:
    return ScoringTask(tokens=tokens, shared_lengths=(shared,), continuations=((9,),))


def letters(*tokens: int) -> Letters:
    return Letters(task=task(*tokens), answer_token_ids=(1, 2))


def likelihood(one: ScoringTask, baseline: ScoringTask) -> Likelihood:
    return Likelihood(task=one, baseline=baseline, text_of_option=(0, 0))


def test_tasks_with_an_equal_prefix_follow_one_another_and_keep_their_owners() -> None:
    plans: list[Plan] = [
        letters(1, 5),
        letters(2, 5),
        RotatedLetters(tasks=(task(1, 6), task(1, 7)), orders=((0, 1), (1, 0)), label_token_ids=(1, 2)),
        letters(2, 6),
    ]
    entries = work_list(plans, ())
    assert [entry.task.tokens for entry in entries] == [(1, 5), (1, 6), (1, 7), (2, 5), (2, 6)]
    assert [(entry.owner, entry.place) for entry in entries] == [(0, 0), (2, 0), (2, 1), (1, 0), (3, 0)]


def test_a_baseline_is_scored_once_a_request_for_the_first_that_needs_it_and_not_at_all_if_it_is_known() -> None:
    shared, other = task(8, 1), task(8, 2)
    plans = [likelihood(task(1, 5), shared), likelihood(task(2, 5), shared), likelihood(task(1, 6), other)]
    scored = [(entry.owner, entry.task) for entry in work_list(plans, ()) if entry.place is None]
    assert scored == [(0, shared), (2, other)]
    assert [entry.task for entry in work_list(plans, {shared}) if entry.place is None] == [other]


def test_a_plan_is_answered_once_all_its_tasks_and_its_baseline_are_scored() -> None:
    shared = task(8, 1)
    plans: list[Plan] = [
        likelihood(task(1, 5), shared),
        likelihood(task(1, 6), shared),
        RotatedLetters(tasks=(task(2, 6), task(2, 7)), orders=((0, 1), (1, 0)), label_token_ids=(1, 2)),
    ]
    entries = work_list(plans, ())
    assert [entry.task.tokens for entry in entries] == [(1, 5), (1, 6), (2, 6), (2, 7), (8, 1)]
    assert [answered(plans, entries[done:]) for done in range(6)] == [0, 0, 0, 0, 1, 3]
