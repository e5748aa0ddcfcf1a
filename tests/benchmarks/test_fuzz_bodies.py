from __future__ import annotations

import json

from benchmarks.fuzz_bodies import cases


def test_equal_seeds_give_equal_bodies_and_others_give_others() -> None:
    assert list(cases(3, 60)) == list(cases(3, 60))
    assert [case.body for case in cases(3, 60)] != [case.body for case in cases(4, 60)]


def test_a_longer_run_begins_with_the_shorter_one() -> None:
    assert list(cases(3, 40)) == list(cases(3, 80))[:40]


def test_every_kind_comes_and_only_some_bodies_are_valid_ones() -> None:
    made = list(cases(1, 320))
    assert {sum(case.kind == kind for case in made) for kind in {case.kind for case in made}} == {20}
    valid = [case for case in made if case.valid]
    assert len(valid) == 40
    assert all(json.loads(case.body) for case in valid)
    broken = sum(not parses(case.body) for case in made)
    assert 40 < broken < 160


def parses(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
