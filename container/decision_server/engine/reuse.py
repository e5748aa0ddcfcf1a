"""The ways of computing that may prove exact, in the order of preference, and what a proof allows. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from decision_server.engine.layout import CHUNK, LEAST_STOP, Anywhere, AtCuts, Computed, Layout
from decision_server.scoring import ScoringTask

_MOST_SCORES_BYTES = 96 << 20  # of 150 MB for all that is neither weights nor cache


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A way to compute that may prove exact."""

    flash_attention: bool
    layout: Layout


CANDIDATES = (
    Candidate(flash_attention=False, layout=Anywhere(least_rows=8, grain=4)),
    Candidate(flash_attention=True, layout=Anywhere(least_rows=64, grain=4)),
    Candidate(flash_attention=True, layout=AtCuts()),
    Candidate(flash_attention=False, layout=AtCuts()),
)


def candidates(*, on_gpu: bool, scores_bytes: int) -> tuple[Candidate, ...]:
    """In the order of preference; measured on CPUs: docs/decisions/0005.

    Without flash attention decodes of 5 rows or more agree there, of 64 or more with it; repacked weights are
    multiplied with four rows at a time. GPUs choose kernels by more than that, and lose more without flash attention.
    scores_bytes: what attention without flash attention needs for a decode at the end of a full context.
    """
    if on_gpu or scores_bytes > _MOST_SCORES_BYTES:
        return tuple(one for one in CANDIDATES if one.flash_attention)
    return CANDIDATES


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """What was proved. cuttable: a sequence may be cut back in place. copies: it may be put back from a copy.

    fixed_bytes, token_bytes: of a copy, and of each token in it.
    """

    layout: Layout
    cuttable: bool
    copies: bool
    fixed_bytes: int
    token_bytes: int

    @property
    def words(self) -> str:
        ways = [word for word, can in (("in place", self.cuttable), ("from copies", self.copies)) if can]
        if not ways:
            return "none: on this model a reused prefix gave other logits than a fresh computation"
        where = "up to any token" if isinstance(self.layout, Anywhere) else "up to the cuts of a prompt"
        return f"{' and '.join(ways)}, {where}: equal to a fresh computation bit for bit"

    def stops(self, task: ScoringTask) -> tuple[int, ...]:
        """Lengths at which copies are made on the way: on models that cannot be cut back to them later.

        The last whole chunk well before the end of the shared tokens is for a conversation that grows.
        """
        if self.cuttable or not self.copies:
            return ()
        chunks = max(0, max(task.shared_lengths, default=0) - LEAST_STOP) // CHUNK * CHUNK
        wanted = (*task.shared_lengths, *((chunks,) if chunks else ()))
        return tuple(self.layout.place(stop) for stop in wanted)

    def ends(self, task: ScoringTask, start: int) -> tuple[int, ...]:
        """Where the decodes end that compute tokens[start:]."""
        return self.layout.ends(task, start, self.stops(task))

    def attainable(self, task: ScoringTask) -> int:
        """How much of what the task shares would be found, had the same task been computed just before."""
        before = Computed(tokens=task.tokens, ends=self.ends(task, 0))
        if not self.cuttable:
            stops = self.stops(task)
            return max((end for end in before.ends if end in stops), default=0)
        shared = max(task.shared_lengths, default=0)
        return min(self.layout.place(shared), self.layout.reusable(before, task))
