"""How far a run is, for a person: a bar on standard error, with the accuracy so far."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from tqdm import tqdm

from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Outcome


class Progress(Protocol):
    def __call__(self, outcome: Outcome) -> None: ...


def say(text: str) -> None:
    """A line beside the bar."""
    tqdm.write(text, file=sys.stderr)


@contextmanager
def bar(items: Sequence[Item], done: Sequence[Outcome], *, total: int, shown: bool = True) -> Iterator[Progress]:
    """total: askings of the whole run. done: those of an earlier session."""
    expected = {item.id: item.expected for item in items}
    asked = right = 0
    pause = 0.2 if sys.stderr.isatty() else 10.0  # a log shall not be filled with bars
    with tqdm(
        total=total, unit="asking", disable=not shown, dynamic_ncols=True, mininterval=pause, file=sys.stderr
    ) as drawn:

        def count(outcome: Outcome) -> None:
            nonlocal asked, right
            if outcome.order == GIVEN:
                asked += 1
                right += (
                    outcome.answer is not None and outcome.valid and outcome.answer.top == expected[outcome.item_id]
                )
                drawn.set_postfix_str(f"{right / asked:.1%} right", refresh=False)

        def tell(outcome: Outcome) -> None:
            count(outcome)
            drawn.update()

        for each in done:
            count(each)
        drawn.update(len(done))
        yield tell
