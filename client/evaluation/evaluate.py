"""`python -m client evaluate`: a file of items and a target in; a journal, two reports, a line and an exit code out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from client.decisions import DecisionClient, Target
from client.errors import ANSWERED, SOME_FAILED, JobFailed
from client.evaluation import items, not_answered, progress, report, report_json, target_name, verdict
from client.evaluation.findings import Findings, find
from client.evaluation.items import ItemSet
from client.evaluation.journal import Journal, Settings
from client.evaluation.outcomes import Outcome
from client.evaluation.report_thresholds import lines
from client.evaluation.run import ask_all, turns
from client.evaluation.verdict import Limits
from client.evaluation.whole_file import write_whole
from client.transport.arguments import target_of

FOLDER = Path("evaluations")


def run(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    data = items.read_set(options.data)
    target = target_of(options)
    folder = options.out or FOLDER / f"{data.name}-{target_name.short(target)}"
    settings = replace(
        target_name.settings_of(data, target),
        readout=options.readout,
        prompt_version=options.prompt_version,
        concurrency=options.concurrency,
        reversed_too=options.reversed,
    )
    outcomes = _asked(data, target, settings, folder, options.deadline, say)
    found = find(
        settings,
        data.items,
        outcomes,
        risks=options.risk,
        limits=Limits(
            min_answered=options.min_answered,
            min_accuracy=options.min_accuracy,
            max_p95=options.max_p95,
            max_ece=options.max_ece,
        ),
        hourly_price=options.hourly_price,
    )
    write(found, folder)
    for line in lines(found.thresholds):
        say(line)
    not_answered.tell(found.unanswered, outcomes, say)
    if not found.pairs:
        why = found.unanswered[0].why
        raise JobFailed(f"none of {len(data.items)} decisions was answered: {why}\nReport: {folder / report.NAME}")
    print(f"{verdict.line(found.summary, found.checks)}; report: {folder / report.NAME}")
    return ANSWERED if all(check.passed for check in found.checks) else SOME_FAILED


def write(found: Findings, folder: Path) -> None:
    """Either report is whole or not there. Raises JobFailed."""
    write_whole(folder / report.NAME, report.report_html(found).encode("utf-8"))
    write_whole(folder / report_json.NAME, report_json.report_json(found))


def _asked(
    data: ItemSet, target: Target, settings: Settings, folder: Path, deadline: float, say: Callable[[str], None]
) -> tuple[Outcome, ...]:
    """What the journal has and what is missing in it. No target is opened where nothing is missing."""
    total = len(data.items) + (sum(map(turns, data.items)) if settings.reversed_too else 0)
    with Journal(folder, settings) as journal:
        if done := len(journal.outcomes):
            say(f"{folder}: {done} of {total} askings are there already")
        if done == total:
            return journal.outcomes
        try:
            with (
                DecisionClient(target, deadline_seconds=deadline, say=say) as client,
                progress.bar(data.items, journal.outcomes, total=total) as tell,
            ):
                return ask_all(
                    data.items,
                    client,
                    concurrency=settings.concurrency,
                    reversed_too=settings.reversed_too,
                    readout=settings.readout,
                    prompt_version=settings.prompt_version,
                    journal=journal,
                    progress=tell,
                    waiting=progress.say,
                )
        except KeyboardInterrupt:
            say(f"interrupted; what was answered is in {folder}. To go on: the same command again")
            raise
