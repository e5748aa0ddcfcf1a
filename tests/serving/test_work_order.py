"""The order of work: shortest first, nobody starved; and the wait it predicts."""

from __future__ import annotations

from decision_server.scoring import Score, ScoringTask
from decision_server.work_order import MAX_OVERTAKEN, Job, Taken, predicted_costs, take_next, tokens_ahead
from tests.serving.fake_engine import FakeEngine

_SCORE: Score = FakeEngine().score(ScoringTask(tokens=(1,)), stop=lambda: False)


def job(arrival: int, questions: int, tokens: int) -> Job:
    tasks = tuple(ScoringTask(tokens=(1,) * tokens) for _ in range(questions))
    return Job(arrival=arrival, tasks=tasks, costs=(tokens,) * questions, submitted_at=0.0, deadline=1e9)


def run(jobs: list[Job], picks: int) -> list[int]:
    """The arrivals of the jobs whose questions are scored, in order."""
    order = []
    for _ in range(picks):
        live = [item for item in jobs if not item.finished]
        if not live:
            break
        chosen = take_next(live)
        chosen.add(Taken(value=_SCORE, queue_seconds=0.0))
        order.append(chosen.arrival)
    return order


def test_a_single_question_goes_before_the_rest_of_a_long_request() -> None:
    assert run([job(1, 64, 100), job(2, 1, 100)], 2) == [2, 1]


def test_equal_requests_are_served_in_order_of_arrival_and_to_their_end() -> None:
    assert run([job(1, 2, 100), job(2, 2, 100), job(3, 2, 100)], 6) == [1, 1, 2, 2, 3, 3]


def test_a_stream_of_short_requests_does_not_starve_a_long_one() -> None:
    jobs = [job(0, 8, 100), *(job(n, 1, 10) for n in range(1, 100))]
    order = run(jobs, 45)
    gaps = [order[:n].count(0) for n in range(MAX_OVERTAKEN + 1, 45, MAX_OVERTAKEN + 1)]
    assert gaps == list(range(1, 9))


def test_overtaking_is_bounded_for_every_earlier_request_of_many() -> None:
    jobs = [job(0, 3, 500), job(1, 3, 400), *(job(n, 1, 10) for n in range(2, 200))]
    order = run(jobs, 100)
    assert order.count(0) == 3
    assert order.count(1) == 3


def test_a_request_of_many_questions_is_charged_its_state_once() -> None:
    head = tuple(range(10))
    tasks = [ScoringTask(tokens=(*head, 50 + n, 60), shared_lengths=(4, 10)) for n in range(3)]
    other = ScoringTask(tokens=(0, 1, 2, 3, 99, 98), shared_lengths=(4, 5))
    assert predicted_costs([*tasks, other]) == (12, 2, 2, 2)
    assert predicted_costs([ScoringTask(tokens=(1, 2))]) == (2,)


def test_the_texts_of_a_likelihood_are_charged_too() -> None:
    task = ScoringTask(tokens=(1, 2, 3), continuations=((4, 5), (6,)))
    assert predicted_costs([task]) == (6,)


def test_shorter_requests_ahead_count_whole_and_longer_ones_by_their_turns() -> None:
    longer = job(1, 64, 100)
    assert tokens_ahead([job(1, 1, 50), longer], (60,), 7) == 57
    assert tokens_ahead([longer], (10,) * MAX_OVERTAKEN, 0) == 100
