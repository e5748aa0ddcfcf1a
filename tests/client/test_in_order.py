"""Several at once, in order."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from client.decide.in_order import mapped


def test_outcomes_come_in_the_order_of_the_items_however_long_each_takes() -> None:
    second = threading.Event()

    def slow_first(item: int) -> int:
        if item == 0:
            assert second.wait(30)
        elif item == 1:
            second.set()
        return item * 2

    assert list(mapped(slow_first, range(5), at_once=2)) == [0, 2, 4, 6, 8]
    assert list(mapped(slow_first, [], at_once=2)) == []


def test_what_is_raised_is_raised_in_its_turn() -> None:
    outcomes = mapped(lambda item: 1 // item, [1, 0, 1], at_once=1)
    assert next(outcomes) == 1
    with pytest.raises(ZeroDivisionError):
        next(outcomes)


def test_nothing_more_is_begun_once_it_is_closed() -> None:
    begun: list[int] = []
    gate, last = threading.Event(), threading.Event()

    def waits(item: int) -> int:
        begun.append(item)
        if item == 1:
            assert gate.wait(30)
            last.set()
        return item

    with closing(mapped(waits, range(50), at_once=1)) as outcomes:
        assert next(outcomes) == 0
    gate.set()
    if 1 in begun:
        assert last.wait(30)
    assert begun in ([0], [0, 1])
