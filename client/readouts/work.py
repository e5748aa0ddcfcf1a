"""All readouts of one target from the arguments to the files: the order of the steps."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from client.comparison.paired import SEED
from client.comparison.versus import verdicts, versus
from client.decisions import DecisionClient
from client.errors import ANSWERED, JobFailed
from client.evaluation import evaluate, items, not_answered, target_name
from client.evaluation.asked import unanswered
from client.evaluation.findings import find
from client.evaluation.items import ItemSet
from client.evaluation.journal import Settings
from client.evaluation.outcomes import GIVEN, Outcome
from client.evaluation.verdict import Limits
from client.evaluation.whole_file import write_whole
from client.readouts import document, page, picture, table
from client.readouts.asking import ask
from client.readouts.calibrated import Calibrated, calibrated
from client.readouts.machine import machine
from client.readouts.rows import Asked, Row, rows
from client.transport.arguments import target_of

RISK = 0.05  # of the reports' part on automation, as `evaluate` has it by default


def run(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Prints the table, and what each readout is against the first. Raises Refused and JobFailed."""
    data = items.read_set(options.data)
    target = target_of(options)
    settings = replace(
        target_name.settings_of(data, target),
        reversed_too=True,
    )
    with ExitStack() as stack:

        @cache
        def opened() -> DecisionClient:
            return stack.enter_context(DecisionClient(target, deadline_seconds=options.deadline, say=say))

        try:
            answers = ask(
                data, opened, settings, readouts=list(dict.fromkeys(options.readout)), out=options.out, say=say
            )
        except KeyboardInterrupt:
            say(f"interrupted; what was answered is in {options.out}. To go on: the same command again")
            raise
    for name, outcomes in answers.items():
        not_answered.tell(unanswered(data.items, outcomes), outcomes, say, whose=f"{name}: ")
    asked = [Asked(readout=name, prompt_version=_version(outcomes, name), outcomes=outcomes)
             for name, outcomes in answers.items()]  # fmt: skip
    fitted = {
        each.readout: calibrated(data.items, each.outcomes, readout=each.readout, prompt_version=each.prompt_version)
        for each in asked
    }
    made = [row for each in asked for row in rows(data.items, each, fitted[each.readout])]
    _write(options.out, data, settings, answers, fitted, made)
    say(f"page: {options.out / page.NAME}")
    return ANSWERED


def _write(
    out: Path,
    data: ItemSet,
    settings: Settings,
    answers: Mapping[str, tuple[Outcome, ...]],
    fitted: Mapping[str, Calibrated],
    made: list[Row],
) -> None:
    for name, outcomes in answers.items():
        found = find(replace(settings, readout=name), data.items, outcomes, risks=[RISK], limits=Limits(),
                     hourly_price=None)  # fmt: skip
        evaluate.write(found, out / name)
    first, *others = answers
    judged = {name: verdicts(data.items, outcomes) for name, outcomes in answers.items()}
    against = [versus(data.items, judged[first], judged[name], names=(first, name), seed=SEED) for name in others]
    given = [each for outcomes in answers.values() for each in outcomes if each.order == GIVEN]
    measured = document.Measured(
        data=data.name,
        data_sha256=data.sha256,
        model=next(each.answer.model for each in given if each.answer is not None),
        target=settings.target,
        target_sha256=settings.target_sha256,
        day=datetime.fromtimestamp(min(each.began for each in given), timezone.utc).date().isoformat(),
        machine=machine(),
    )
    drawn = picture.svg(made, data.items, title=f"{measured.model} on {len(data.items)} labelled decisions")
    types = [(name, verdict) for name, each in fitted.items() for verdict in each.verdicts]
    for name, text in (
        ("readouts.json", document.document(measured, made, data.items, against)),
        ("readouts.md", table.markdown(made, data.items) + "\n"),
        ("readouts.svg", drawn),
        (page.NAME, page.page(measured, made, data.items, against=against, verdicts=types, svg=drawn)),
    ):
        write_whole(out / name, text.encode("utf-8"))
    print(table.terminal(made, data.items))
    for each in against:
        print(page.difference(each))


def _version(outcomes: tuple[Outcome, ...], readout: str) -> str:
    """The prompt version that the readout was really asked by, without the mark of its wide form. Raises JobFailed."""
    for each in outcomes:
        if each.answer is not None and each.answer.readout == readout:
            return each.answer.prompt_version.removesuffix("-wide")
    why = next((each.error for each in outcomes if each.error), "its answers were made by another readout")
    raise JobFailed(f"nothing was answered by {readout}: {why}")
