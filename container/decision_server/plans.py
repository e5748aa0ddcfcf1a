"""What of one decision is scored and how its scores are read: one plan a readout. No llama.cpp, no text.

A plan's tasks are computed anew for each decision; its baseline depends on the question alone, so its outcome may be
kept (baselines.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from decision_server.readout import Readout, Row, look, read_letters, read_likelihood, read_rotated
from decision_server.scoring import Score, ScoringTask


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is kept of a score until its request is answered. totals: of each continuation, a natural log-probability.

    The other fields are the score's.
    """

    row: Row
    totals: tuple[float, ...]
    cached_tokens: int
    forward_seconds: float
    prefix_seconds: float


def reading(score: Score, label_token_ids: Sequence[int]) -> Reading:
    """Raises EngineFailure on a logit that is not finite."""
    return Reading(
        row=look(score.logits, label_token_ids),
        totals=tuple(math.fsum(logprobs.tolist()) for logprobs in score.continuation_logprobs),
        cached_tokens=score.cached_tokens,
        forward_seconds=score.forward_seconds,
        prefix_seconds=score.prefix_seconds,
    )


class Plan(Protocol):
    """tasks: at least one. baseline: whose totals `read` needs too, where there is one.
    answer_token_ids: one for each option, in the request's order. label_token_ids: whose logits are read in each task.
    """

    @property
    def tasks(self) -> tuple[ScoringTask, ...]: ...

    @property
    def baseline(self) -> ScoringTask | None: ...

    @property
    def answer_token_ids(self) -> tuple[int, ...]: ...

    @property
    def label_token_ids(self) -> tuple[int, ...]: ...

    def read(self, readings: Sequence[Reading], baseline: Sequence[float] | None, *, temperature: float) -> Readout:
        """readings: of the tasks, in their order. baseline: the totals of `baseline`. Raises EngineFailure."""


@dataclass(frozen=True, kw_only=True)
class Letters:
    """One prompt that lists the options; the logits of the label tokens decide."""

    task: ScoringTask
    answer_token_ids: tuple[int, ...]
    baseline: None = None

    @property
    def tasks(self) -> tuple[ScoringTask, ...]:
        return (self.task,)

    @property
    def label_token_ids(self) -> tuple[int, ...]:
        return self.answer_token_ids

    def read(self, readings: Sequence[Reading], baseline: Sequence[float] | None, *, temperature: float) -> Readout:
        return read_letters(readings[0].row, temperature=temperature)


@dataclass(frozen=True, kw_only=True)
class RotatedLetters:
    """One prompt for each order of the options. orders[t]: the options' indices as tasks[t] lists them."""

    tasks: tuple[ScoringTask, ...]
    orders: tuple[tuple[int, ...], ...]
    label_token_ids: tuple[int, ...]
    baseline: None = None

    @property
    def answer_token_ids(self) -> tuple[int, ...]:
        """The labels that the options had in the first prompt."""
        return tuple(self.label_token_ids[self.orders[0].index(option)] for option in range(len(self.label_token_ids)))

    def read(self, readings: Sequence[Reading], baseline: Sequence[float] | None, *, temperature: float) -> Readout:
        return read_rotated([one.row for one in readings], self.orders, temperature=temperature)


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """One prompt without options; each distinct option text is a continuation, in ascending order of its token ids.

    text_of_option[o]: the continuation that option o is.
    """

    task: ScoringTask
    baseline: ScoringTask
    text_of_option: tuple[int, ...]
    label_token_ids: tuple[int, ...] = ()

    @property
    def tasks(self) -> tuple[ScoringTask, ...]:
        return (self.task,)

    @property
    def answer_token_ids(self) -> tuple[int, ...]:
        """The first token of each option's text."""
        return tuple(self.task.continuations[text][0] for text in self.text_of_option)

    def read(self, readings: Sequence[Reading], baseline: Sequence[float] | None, *, temperature: float) -> Readout:
        if baseline is None:
            raise ValueError("a likelihood is read against its baseline, and none was given")
        return read_likelihood(
            readings[0].row.argmax_id,
            readings[0].totals,
            baseline,
            self.text_of_option,
            separate(self.task.continuations),
            temperature=temperature,
        )


def separate(continuations: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Indices of those that do not begin with another one. continuations: distinct, ascending.

    A text that begins with another one is part of what that one's probability counts already.
    """
    kept = [0]
    for index in range(1, len(continuations)):
        shortest = continuations[kept[-1]]
        if continuations[index][: len(shortest)] != shortest:
            kept.append(index)
    return tuple(kept)
