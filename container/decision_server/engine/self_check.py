"""Proves at start-up, on the loaded model, which way of dividing and reusing prompts gives the same bits always.

One random prompt is computed in a plain division and in the worst one that the layout allows (the fewest rows, every
remainder of the kernels' tiles, decodes across a chunk's end); then the end of it again after a cut back, and after its
beginning was put back from a copy among other tokens. Each time the last logits, and the log-probabilities of branches
from there, must be the same bits: they depend on every number computed before.
"""

from __future__ import annotations

import logging

import numpy as np

from decision_server.engine.branches import Branches
from decision_server.engine.context import Context
from decision_server.engine.layout import CHUNK, Anywhere, AtCuts, Layout
from decision_server.engine.reuse import Reuse
from decision_server.engine.sequence import Sequence
from decision_server.scoring import NotFinite, ScoringTask

_log = logging.getLogger(__name__)
_MORE_THAN_A_CHUNK = 18


def run(context: Context, layout: Layout, n_ctx: int) -> Reuse:
    """Leaves the context empty. About 550 tokens are computed, fewer where n_ctx is small."""
    return _Check(context, layout, n_ctx).run()


class _Check:
    def __init__(self, context: Context, layout: Layout, n_ctx: int) -> None:
        self._sequence = Sequence(context)
        self._branches = Branches(context)
        self._layout = layout
        random = np.random.default_rng(7)
        self._plain, self._worst = _divisions(layout, n_ctx)
        length = self._plain[-1]
        self._tokens: tuple[int, ...] = tuple(random.integers(0, context.n_vocab, length).tolist())
        self._other: tuple[int, ...] = tuple(random.integers(0, context.n_vocab, min(9, n_ctx)).tolist())
        self._continuations = tuple(tuple(random.integers(0, context.n_vocab, size).tolist()) for size in (3, 1, 4, 2))

    def run(self) -> Reuse:
        if len(self._worst) < 2:
            return _nothing(self._layout)
        try:
            return self._proved()
        except NotFinite as error:
            _log.warning("self-check: %s: on random tokens %s; nothing is proved", self._layout, error)
            self._sequence.purge()
            return _nothing(self._layout)
        finally:
            self._sequence.clear()

    def _proved(self) -> Reuse:
        self._compute(self._plain)
        expected = self._bits()
        self._sequence.clear()
        self._compute(self._worst[:-1])
        copy = self._sequence.copy_out()
        self._compute(self._worst[-1:])
        if self._bits() != expected:
            _log.warning("self-check: %s: the division of a prompt changes its logits", self._layout)
            return _nothing(self._layout)
        cuttable = self._same_after_cutting_back(expected)
        self._sequence.clear()
        self._sequence.extend(self._other, len(self._other))
        small = self._sequence.copy_out()
        self._sequence.put_back(copy)
        self._compute(self._worst[-1:])
        copies = self._bits() == expected
        if copies and cuttable:
            self._sequence.put_back(copy)
            copies = self._same_after_cutting_back(expected)
        if not copies:
            _log.warning("self-check: %s: a prefix put back from a copy changes logits", self._layout)
        token_bytes = (copy.memory.nbytes - small.memory.nbytes) // (self._worst[-2] - len(self._other))
        return Reuse(
            layout=self._layout,
            cuttable=cuttable,
            copies=copies,
            fixed_bytes=copy.memory.nbytes - token_bytes * self._worst[-2],
            token_bytes=token_bytes,
        )

    def _same_after_cutting_back(self, expected: tuple[bytes, ...]) -> bool:
        back = self._layout.place(self._worst[-2] - 3)
        if isinstance(self._layout, AtCuts):
            back = self._worst[-3] if len(self._worst) > 2 else self._worst[-2]
        if not self._sequence.cut_back(back):
            return False
        if isinstance(self._layout, AtCuts):
            self._compute(tuple(end for end in self._worst if end > back))
        else:
            self._compute(self._worst[-1:])
        if self._bits() == expected:
            return True
        _log.warning("self-check: %s: reuse in place changes logits", self._layout)
        return False

    def _compute(self, ends: tuple[int, ...]) -> None:
        for end in ends:
            self._sequence.extend(self._tokens, end)

    def _bits(self) -> tuple[bytes, ...]:
        logits = self._sequence.logits()
        if not np.isfinite(logits).all():
            raise NotFinite("the logits are not finite")
        found = self._branches.logprobs(len(self._tokens), logits, self._continuations)
        return (logits.tobytes(), *(one.tobytes() for one in found))


def _nothing(layout: Layout) -> Reuse:
    return Reuse(layout=layout, cuttable=False, copies=False, fixed_bytes=0, token_bytes=0)


def _divisions(layout: Layout, n_ctx: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A plain division of one prompt, and the worst that the layout allows; both as the ends of decodes."""
    if isinstance(layout, AtCuts):
        length = min(n_ctx, CHUNK + _MORE_THAN_A_CHUNK)
        task = ScoringTask(tokens=(0,) * length, shared_lengths=tuple(cut for cut in (24, length - 1) if cut < length))
        ends = layout.ends(task, 0, ())
        return ends, ends
    least, grain = (layout.least_rows, layout.grain) if isinstance(layout, Anywhere) else (1, 1)
    sizes = [least + more * grain for more in (range(4) if least < CHUNK // 8 else (0, 1, 3))]
    length = min(n_ctx, max(sum(sizes) + least, CHUNK + _MORE_THAN_A_CHUNK) // least * least + least + 3)
    edges: list[int] = np.cumsum(sizes).tolist()
    while edges and edges[-1] > length - least:
        edges.pop()
    last = layout.place(length - least)
    if edges and last - edges[-1] > CHUNK:
        edges.append(layout.place(edges[-1] + 101))
    if edges and last - edges[-1] >= least:
        edges.append(last)
    plain = layout.ends(ScoringTask(tokens=(0,) * length), 0, ())
    return plain, (*edges, length)
