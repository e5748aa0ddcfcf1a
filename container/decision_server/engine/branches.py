"""What the model gives to whole answers: every continuation of the prompt is a short branch from its end.

Where a branch stands in which decode follows from the continuations alone, so equal tasks are computed in equal
company. The first token of each is read from the prompt's own logits; the last one is never computed, only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decision_server.engine.context import Context
from decision_server.scoring import NotFinite, ScoringStopped


@dataclass(frozen=True, kw_only=True)
class _Row:
    """Token `offset` of continuation `index`, computed to read the token after it."""

    index: int
    offset: int


class Branches:
    """Not for two threads at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._scratch = np.empty(context.n_vocab, dtype=np.float64)

    def logprobs(
        self,
        length: int,
        logits: NDArray[np.float32],
        continuations: SequenceOf[SequenceOf[int]],
        stop: Callable[[], bool] = lambda: False,
    ) -> tuple[NDArray[np.float64], ...]:
        """The sequence holds `length` tokens, `logits` are those of its last one: float32[n_vocab].

        stop: asked between groups of branches. Returns float64[len(continuation)] each, natural logs. The sequence is
        as before, also where ScoringStopped is raised. Raises NotFinite, after which the context must be purged.
        """
        if not continuations:
            return ()
        tokens = [np.asarray(continuation, dtype=np.int32) for continuation in continuations]
        results = [np.empty(len(one), dtype=np.float64) for one in tokens]
        shift = self._log_sum_exp(logits)
        for result, one in zip(results, tokens, strict=True):
            result[0] = float(logits[one[0]]) - shift
        for group in groups([len(one) - 1 for one in tokens], self._context.n_branches, self._context.n_outputs):
            if stop():
                raise ScoringStopped
            self._compute(group, length, tokens, results)
        return tuple(results)

    def _compute(
        self,
        group: SequenceOf[int],
        length: int,
        tokens: SequenceOf[NDArray[np.int32]],
        results: SequenceOf[NDArray[np.float64]],
    ) -> None:
        sequence_of = {index: 1 + place for place, index in enumerate(group)}
        for sequence in sequence_of.values():
            self._context.branch(sequence)
        rows = [_Row(index=index, offset=offset) for index in group for offset in range(len(tokens[index]) - 1)]
        for start in range(0, len(rows), self._context.n_outputs):
            part = rows[start : start + self._context.n_outputs]
            logits = self._context.decode_rows(
                np.array([tokens[row.index][row.offset] for row in part], dtype=np.int32),
                np.array([length + row.offset for row in part], dtype=np.int32),
                np.array([sequence_of[row.index] for row in part], dtype=np.int32),
            )
            for row, values in zip(part, logits, strict=True):
                follower = tokens[row.index][row.offset + 1]
                results[row.index][row.offset + 1] = float(values[follower]) - self._log_sum_exp(values)
        for sequence in sequence_of.values():
            self._context.remove(sequence)

    def _log_sum_exp(self, logits: NDArray[np.float32]) -> float:
        scratch = self._scratch
        highest = float(logits.max())
        np.subtract(logits, highest, out=scratch)
        np.exp(scratch, out=scratch)
        total = highest + float(np.log(scratch.sum()))
        if not np.isfinite(total):
            raise NotFinite("the log-probability of an answer is not finite")
        return total


def groups(lengths: SequenceOf[int], n_branches: int, n_rows: int) -> Iterator[tuple[int, ...]]:
    """Which continuations are computed together, by their number of rows: in order, as many as fit one decode.

    One that is longer than a decode is a group of its own, and one without rows is in none.
    """
    group: list[int] = []
    rows = 0
    for index, length in enumerate(lengths):
        if length == 0:
            continue
        if group and (rows + length > n_rows or len(group) == n_branches):
            yield tuple(group)
            group, rows = [], 0
        group.append(index)
        rows += length
    if group:
        yield tuple(group)
