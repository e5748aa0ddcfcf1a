"""Where the time of an answer went, told honestly for decisions that took several engine tasks. Pure.

Seconds count all that was computed for a decision, the baseline of its question too where this request computed it (it
is then the first decision's that needs it). Tokens count what the answer is made from: all prompts and option texts of
the decision itself, so that they do not depend on what was kept from earlier requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decision_server.plans import Reading
from decision_server.results import BatchTiming, Timing
from decision_server.scoring import ScoringTask
from decision_server.work_list import Entry
from decision_server.work_order import Taken


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One task with what was read from its score."""

    entry: Entry
    taken: Taken[Reading]


def timing(scored: Sequence[Scored], encode_seconds: float, total_seconds: float) -> Timing:
    """Of one decision. scored: the tasks it owns."""
    return Timing(
        queue_seconds=min(item.taken.queue_seconds for item in scored),
        encode_seconds=encode_seconds,
        forward_seconds=sum(item.taken.value.forward_seconds for item in scored),
        total_seconds=total_seconds,
        cached_tokens=_cached(scored),
    )


def batch_timing(scored: Sequence[Scored], encode_seconds: Sequence[float], total_seconds: float) -> BatchTiming:
    """Of all decisions of a request. encode_seconds: one a decision."""
    own = [item.entry for item in scored if item.entry.place is not None]
    prefixes = {entry.prefix for entry in own}
    forward = sum(item.taken.value.forward_seconds for item in scored)
    prefill = sum(item.taken.value.prefix_seconds for item in scored)
    return BatchTiming(
        queue_seconds=min(item.taken.queue_seconds for item in scored),
        encode_seconds=sum(encode_seconds),
        forward_seconds=forward,
        total_seconds=total_seconds,
        batch_size=len(encode_seconds),
        prefix_tokens=sum(len(prefix) for prefix in prefixes),
        prefill_seconds=prefill,
        suffix_forward_seconds=forward - prefill,
        true_suffix_tokens=sum(input_tokens(entry.task) - len(entry.prefix) for entry in own),
        cached_tokens=_cached(scored),
    )


def input_tokens(task: ScoringTask) -> int:
    """Tokens of the prompt and of the continuations behind it."""
    return len(task.tokens) + sum(map(len, task.continuations))


def _cached(scored: Sequence[Scored]) -> int:
    return sum(item.taken.value.cached_tokens for item in scored if item.entry.place is not None)
