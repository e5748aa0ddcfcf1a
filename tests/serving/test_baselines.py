"""What a question's options are worth without evidence is kept, within bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from decision_server.baselines import Baselines
from decision_server.scoring import ScoringTask


def task(*continuations: tuple[int, ...], tokens: tuple[int, ...] = (1, 2)) -> ScoringTask:
    return ScoringTask(tokens=tokens, continuations=continuations)


def test_what_was_put_is_found_by_prompt_and_texts_whatever_the_shared_lengths() -> None:
    kept = Baselines()
    kept.put(task((3,), (4, 5)), (-1.0, -2.0))
    assert kept.get(ScoringTask(tokens=(1, 2), shared_lengths=(1,), continuations=((3,), (4, 5)))) == (-1.0, -2.0)


def test_tasks_whose_numbers_are_the_same_but_divided_otherwise_are_different() -> None:
    kept = Baselines()
    kept.put(task((3,), (4, 5)), (-1.0, -2.0))
    for other in (task((3, 4), (5,)), task((4, 5), (3,)), task((3,)), task((4, 5), tokens=(1, 2, 3))):
        assert kept.get(other) is None


def test_the_least_recently_used_goes_first_and_there_are_never_more_than_the_capacity() -> None:
    kept = Baselines(capacity=2)
    for number in (1, 2):
        kept.put(task((number,)), (float(number),))
    assert kept.get(task((1,))) == (1.0,)
    kept.put(task((3,)), (3.0,))
    assert len(kept) == 2
    assert [kept.get(task((number,))) for number in (1, 2, 3)] == [(1.0,), None, (3.0,)]


def test_many_threads_use_it_at_once_and_each_finds_its_own() -> None:
    kept = Baselines(capacity=8)

    def use(number: int) -> bool:
        kept.put(task((number,)), (float(number),))
        return kept.get(task((number,))) in (None, (float(number),)) and len(kept) <= 8

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(2000)))
