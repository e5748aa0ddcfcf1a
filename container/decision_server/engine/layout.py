"""How a prompt is divided into decodes, and what of it need not be computed again. Pure: no llama.cpp, no threads.

llama.cpp's kernels are chosen by the number of rows in a decode, so a token's numbers may depend on its company. Two
ways lead to equal bits whatever was computed before:

- `Anywhere`: on this model a row's numbers do not depend on its company, as long as every decode has some number of
  rows and begins at a multiple of some positions. Then any common beginning is taken up, to within that grain.
- `AtCuts`: a prompt is always divided at the same places, which follow from the task alone, and only a beginning that
  ends at one of them, and was divided like it, is taken up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from decision_server.scoring import DECODE_TOKENS, ScoringTask

CHUNK = DECODE_TOKENS  # rows of a decode, at most
# Fewer tokens than this are as well computed again: a decode of few rows costs almost as much as one of these many.
LEAST_WORTH = 16
# Where a prompt could go on uncut, a stop costs a decode of its own, 25 ms on a model that takes 1.4 ms a token.
LEAST_STOP = 48


@dataclass(frozen=True, kw_only=True)
class Computed:
    """Tokens that a context holds, or a copy of what it held. ends: where the decodes ended that computed them."""

    tokens: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def upto(self, length: int) -> Computed:
        return Computed(tokens=self.tokens[:length], ends=tuple(end for end in self.ends if end <= length))


class Layout(Protocol):
    def place(self, length: int) -> int:
        """The last place up to `length` tokens at which decodes may end that do not end the prompt."""

    def reusable(self, computed: Computed, task: ScoringTask) -> int:
        """How many of the task's first tokens may be taken from `computed`."""

    def ends(self, task: ScoringTask, start: int, stops: Iterable[int]) -> tuple[int, ...]:
        """Where the decodes of tokens[start:] end, ascending; the last is len(tokens). stops: ends that are wished."""

    def covers(self, computed: Computed, other: Computed) -> bool:
        """Whether all that `other` is good for, a beginning of `computed` is good for too."""


@dataclass(frozen=True, kw_only=True)
class Anywhere:
    """least_rows: of a decode, for a row's numbers to be independent of the others.

    grain: kernels that take rows by so many at a time compute the rest differently; so the rest may only be the end of
    a prompt, and decodes begin at multiples of it.
    """

    least_rows: int
    grain: int

    def place(self, length: int) -> int:
        return length // self.grain * self.grain

    def reusable(self, computed: Computed, task: ScoringTask) -> int:
        if len(computed.tokens) < self.least_rows:  # computed in a single decode of too few rows
            return 0
        length = self.place(min(common(computed.tokens, task.tokens), len(task.tokens) - self.least_rows))
        return length if length >= LEAST_WORTH else 0

    def ends(self, task: ScoringTask, start: int, stops: Iterable[int]) -> tuple[int, ...]:
        result: list[int] = []
        done = start
        for stop in sorted({self.place(stop) for stop in stops}):
            # the first stop of all, the end of the fixed head, is made once and then found by every task
            least = max(self.least_rows, LEAST_STOP if done else LEAST_WORTH)
            if stop - done >= least and len(task.tokens) - stop >= self.least_rows:
                result += self._pieces(done, stop)
                done = stop
        return (*result, *self._pieces(done, len(task.tokens)))

    def covers(self, computed: Computed, other: Computed) -> bool:
        return computed.tokens[: len(other.tokens)] == other.tokens

    def _pieces(self, start: int, end: int) -> list[int]:
        """Ends of decodes of CHUNK rows and a last one, which has least_rows or more where there are that many."""
        result: list[int] = []
        while end - start > CHUNK:
            start += min(CHUNK, self.place(end - start - self.least_rows))
            result.append(start)
        return [*result, end]


@dataclass(frozen=True, kw_only=True)
class AtCuts:
    """Cuts at the task's shared lengths, and at multiples of CHUNK among the tokens that are shared."""

    def place(self, length: int) -> int:
        return length

    def reusable(self, computed: Computed, task: ScoringTask) -> int:
        length = 0
        for mine, other in zip(self.ends(task, 0, ()), computed.ends, strict=False):
            same = mine == other and computed.tokens[length:mine] == task.tokens[length:mine]
            if not same or mine == len(task.tokens):
                break
            length = mine
        return length

    def ends(self, task: ScoringTask, start: int, stops: Iterable[int]) -> tuple[int, ...]:
        shared = max(task.shared_lengths, default=0)
        wanted = sorted({*task.shared_lengths, *range(CHUNK, shared, CHUNK)})
        result: list[int] = []
        for end in wanted:
            far_enough = end % CHUNK == 0 or end - (result[-1] if result else 0) >= LEAST_WORTH
            if far_enough and end < len(task.tokens):
                result.append(end)
        result += range((result[-1] if result else 0) + CHUNK, len(task.tokens), CHUNK)
        result.append(len(task.tokens))
        return tuple(end for end in result if end > start)

    def covers(self, computed: Computed, other: Computed) -> bool:
        return computed.tokens[: len(other.tokens)] == other.tokens and computed.ends[: len(other.ends)] == other.ends


def common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many first tokens are the same."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return int(np.argmax(np.not_equal(one[:length], other[:length])))
