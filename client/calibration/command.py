"""`python -m client calibrate`: arguments in, an artefact, a page and an exit code out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from client.ending import ended_by_sigterm
from client.errors import ANSWERED, SOME_FAILED
from client.evaluation.command import MAX_CONCURRENCY, missing
from client.transport.arguments import add_deadline, add_target

Say = Callable[[str], None]

_EXAMPLES = """examples:
  python -m client calibrate --data decisions.jsonl --archive build/my-model/model.tar.gz --out build/calibrated
  python -m client calibrate --data decisions.jsonl --model my-model.gguf --readout letters --out build/calibration
  python -m client calibrate --data decisions.jsonl --url http://127.0.0.1:8080 --evaluation evaluations/mine \\
      --out build/calibration
"""


def run(options: argparse.Namespace, say: Say) -> int:
    try:
        from client.calibration.work import calibrate  # numpy, scipy and matplotlib: of this command alone
    except ModuleNotFoundError as error:
        raise missing(error) from error
    with ended_by_sigterm():
        result = calibrate(options, say, show_progress=sys.stderr.isatty())
    return ANSWERED if result.artefact is not None else SOME_FAILED


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "calibrate",
        help="fit temperatures on labelled decisions, and keep those that help",
        description="Fits a temperature for each type of question, judges it on decisions that it was not fitted on, "
        "and writes calibration.json with those that help. Exit code 0: written; 1: no temperature helps, and none is "
        "written; 2: refused; 3: the model could not be asked.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="labelled decisions, as evaluate reads them"
    )
    one.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for artefact, page and journal")
    add_target(one, required=False)
    one.add_argument(
        "--archive",
        type=Path,
        metavar="PATH",
        help="model.tar.gz, or the folder it was unpacked into: is asked, if nothing else is named to ask, and written "
        "anew with the calibration to DIR/model.tar.gz",
    )
    one.add_argument(
        "--evaluation",
        type=Path,
        metavar="DIR",
        help="take the answers of this evaluation; nothing of it is asked anew",
    )
    one.add_argument("--readout", help="(default: the server's)")
    one.add_argument("--prompt-version", help="(default: the server's)")
    one.add_argument(
        "--concurrency", type=_count(1, MAX_CONCURRENCY), default=1, metavar="N", help="asked at once (default: 1)"
    )
    one.add_argument("--folds", type=_count(2, 50), default=5, metavar="N", help="of the cross-validation (default: 5)")
    one.add_argument(
        "--only-certain", action="store_true", help="keep only what the whole 95 %% interval of the improvement is for"
    )
    one.add_argument(
        "--version", metavar="NAME", help="stands in every answer it is applied to (default: of its content)"
    )
    add_deadline(one, default=50.0, of="one decision")
    one.set_defaults(run=run)


def _count(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number from {least} to {most} is needed")
        return int(text)

    return read
