"""`python -m client readouts`: its arguments. What it does is in `work`, which needs more packages; they are imported
when it runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from client.ending import ended_by_sigterm
from client.evaluation.command import DEADLINE_SECONDS, missing
from client.transport.arguments import add_deadline, add_target

READOUTS = ("letters", "letters-rotated", "likelihood")


def run(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    try:
        from client.readouts import work
    except ModuleNotFoundError as error:
        raise missing(error) from error
    with ended_by_sigterm():
        return work.run(options, say)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "readouts",
        help="which readout is right for a model, on decisions whose answers are known",
        description="Asks a target every labelled decision of a file by each readout, one after another, and prints "
        "one table: how much is right, with and without a fitted calibration. Exit code 0: done; 2: nothing was asked; "
        "3: the target could not be asked to the end, the same command goes on; 130: interrupted, likewise.",
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="labelled decisions: .jsonl or .csv")
    add_target(parser)
    parser.add_argument(
        "--readout",
        nargs="+",
        choices=READOUTS,
        default=list(READOUTS),
        help="(default: each; the others are held against the first)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="journals, reports, table and plot")
    add_deadline(parser, default=DEADLINE_SECONDS, of="one decision, its tries together")
    parser.set_defaults(run=run)
