"""`python -m client evaluate`: its arguments. What it does is in `evaluate`, which needs packages that callers of an
endpoint do without; they are imported when it runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from client.ending import ended_by_sigterm
from client.errors import Refused
from client.transport.arguments import add_deadline, add_target

DEADLINE_SECONDS = 50.0
MAX_CONCURRENCY = 32  # connections that a client keeps


def run(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    try:
        from client.evaluation import evaluate
    except ModuleNotFoundError as error:
        raise missing(error) from error
    with ended_by_sigterm():
        return evaluate.run(options, say)


def missing(error: ModuleNotFoundError) -> Refused:
    """For each command that needs these packages."""
    return Refused(
        f"the package {error.name} is not installed. Remedy: pip install --require-hashes -r "
        "client/requirements-evaluation.txt"
    )


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="how good a target is on decisions whose answers are known",
        description="Asks every labelled decision of a file and reports accuracy, calibration, stability, time and "
        "what may be automated. Exit code 0: all limits kept; 1: one is not, the last line says which; 2: nothing was "
        "asked; 3: the target could not be asked to the end, the same command goes on; 130: interrupted, likewise.",
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="labelled decisions: .jsonl or .csv")
    add_target(parser)
    asked = parser.add_argument_group("how to ask")
    asked.add_argument("--readout", help="for all (default: each decision's, else the server's)")
    asked.add_argument("--prompt-version", help="for all (default: each decision's, else the server's)")
    asked.add_argument(
        "--concurrency", type=_concurrency, default=1, metavar="N", help="decisions asked at once (default: 1)"
    )
    asked.add_argument(
        "--reversed",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="ask choices a second time with their options the other way round (default: yes)",
    )
    add_deadline(asked, default=DEADLINE_SECONDS, of="one decision, its tries together")
    shown = parser.add_argument_group("what to report")
    shown.add_argument(
        "--out", type=Path, metavar="DIR", help="journal and reports (default: evaluations/DATA-TARGET); a run goes on"
    )
    shown.add_argument(
        "--risk",
        type=_share,
        nargs="+",
        default=[0.05],
        metavar="SHARE",
        help="share of errors among automated answers that would do, such as 0.01 0.05 (default: 0.05)",
    )
    shown.add_argument("--hourly-price", type=_positive, metavar="PRICE", help="of the instance; for cost per decision")
    limits = parser.add_argument_group("limits that decide on the exit code")
    limits.add_argument("--min-accuracy", type=_part, metavar="SHARE", help="such as 0.9")
    limits.add_argument("--max-p95", type=_positive, metavar="SECONDS", help="of the latency, the first request apart")
    limits.add_argument("--max-ece", type=_share, metavar="ERROR", help="expected calibration error, such as 0.1")
    limits.add_argument(
        "--min-answered",
        type=_part,
        metavar="SHARE",
        help="share of valid answers (default: 1 where any other limit is given: one kept on a part says nothing of "
        "the rest)",
    )
    parser.set_defaults(run=run)


def _concurrency(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MAX_CONCURRENCY:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to {MAX_CONCURRENCY} is needed")
    return value


def _part(text: str) -> float:
    value = _number(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a number above 0, up to 1, is needed, such as 0.9")
    return value


def _share(text: str) -> float:
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a number between 0 and 1 is needed, such as 0.05")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: a number above 0 is needed")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
