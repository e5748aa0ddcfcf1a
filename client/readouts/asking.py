"""Asks one target a whole set by each readout in turn, a journal for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from client.evaluation import progress, run
from client.evaluation.items import ItemSet
from client.evaluation.journal import Journal, Settings
from client.evaluation.outcomes import Outcome


def ask(
    data: ItemSet,
    opened: Callable[[], run.Target],
    settings: Settings,
    *,
    readouts: Sequence[str],
    out: Path,
    say: Callable[[str], None],
) -> dict[str, tuple[Outcome, ...]]:
    """settings: of the journals, but for the readout. out: each journal stands in the folder with the readout's name.
    opened: the target, the same each time; not called for a readout whose journal has everything.

    One by one, so that no readout's time is another's. Raises JobFailed and Refused, as `run.ask_all` and `Journal`.
    """
    total = len(data.items) + (sum(map(run.turns, data.items)) if settings.reversed_too else 0)
    answers = {}
    for readout in readouts:
        with Journal(out / readout, replace(settings, readout=readout)) as journal:
            if done := len(journal.outcomes):
                say(f"{journal.path}: {done} of {total} askings are there already; to ask anew, remove it")
            if done == total:
                answers[readout] = journal.outcomes
                continue
            target = opened()
            say(f"asking by {readout}")
            with progress.bar(data.items, journal.outcomes, total=total) as tell:
                answers[readout] = run.ask_all(
                    data.items,
                    target,
                    concurrency=settings.concurrency,
                    reversed_too=settings.reversed_too,
                    readout=readout,
                    prompt_version=settings.prompt_version,
                    journal=journal,
                    progress=tell,
                    waiting=progress.say,
                )
    return answers
