"""The engine tasks of one request: which there are, in which order they are scored, whose they are. Pure.

Order: tasks that share the tokens up to where their prompts branch follow one another, so that this prefix is computed
once. Groups stand in the order of their first task, tasks in the request's order within a group.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from decision_server.plans import Plan
from decision_server.scoring import ScoringTask


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One task. owner: index of the decision it is scored for. place: its index in that plan's tasks; None: it is the
    plan's baseline, which other decisions of the request may need too. label_token_ids: whose logits are wanted."""

    owner: int
    place: int | None
    task: ScoringTask
    label_token_ids: tuple[int, ...]

    @property
    def prefix(self) -> tuple[int, ...]:
        """The tokens up to the last place where like prompts branch."""
        return self.task.tokens[: max(self.task.shared_lengths, default=0)]


def answered(plans: Sequence[Plan], left: Sequence[Entry]) -> int:
    """How many of the plans are scored whole, baselines too, while these entries are left."""
    owners = {entry.owner for entry in left if entry.place is not None}
    baselines = {entry.task for entry in left if entry.place is None}
    return sum(owner not in owners and plan.baseline not in baselines for owner, plan in enumerate(plans))


def work_list(plans: Sequence[Plan], known: Container[ScoringTask]) -> list[Entry]:
    """The tasks of all plans in the order to score them. known: baselines that need not be scored again."""
    entries = [
        Entry(owner=owner, place=place, task=task, label_token_ids=plan.label_token_ids)
        for owner, plan in enumerate(plans)
        for place, task in enumerate(plan.tasks)
    ]
    needed: set[ScoringTask] = set()
    for owner, plan in enumerate(plans):
        if plan.baseline is not None and plan.baseline not in known and plan.baseline not in needed:
            needed.add(plan.baseline)
            entries.append(Entry(owner=owner, place=None, task=plan.baseline, label_token_ids=()))
    groups: dict[tuple[int, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.prefix, []).append(entry)
    return [entry for group in groups.values() for entry in group]
