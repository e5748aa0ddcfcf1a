"""`python -m client compare`: its arguments. What it does is in `compare`, whose packages other commands do without."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from client.ending import ended_by_sigterm
from client.errors import ANSWERED
from client.evaluation.command import MAX_CONCURRENCY, missing
from client.transport.arguments import add_deadline

Say = Callable[[str], None]
_EXAMPLES = """a contestant is one of
  NAME=PATH             a .gguf or a model folder; a server is started for it, and stopped before the next one
  NAME=endpoint:NAME    a SageMaker endpoint
  NAME=url:URL          a server
with, behind commas, readout=…, prompt_version=…, price=… (of an hour) and, of a local server, its settings DECISION_…=…

examples:
  python -m client compare --data decisions.jsonl q8=model-Q8_0.gguf q4=model-Q4_0.gguf
  python -m client compare --data decisions.jsonl letters=model.gguf,readout=letters \\
      likelihood=model.gguf,readout=likelihood
  python -m client compare --data decisions.jsonl here=model.gguf aws=endpoint:decision-dev-scoring,price=0.408
"""


def run(options: argparse.Namespace, say: Say) -> int:
    try:
        from client.comparison.compare import compare
    except ModuleNotFoundError as error:
        raise missing(error) from error
    with ended_by_sigterm():
        compare(options, say, show_progress=sys.stderr.isatty())
    return ANSWERED


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "compare",
        help="several models, quants, readouts, prompts or endpoints on the same labelled decisions",
        description="Asks each contestant the same decisions and holds each against the first one, or --baseline. Exit "
        "code 0: compared; 2: refused; 3: a contestant could not be asked to the end, the same command goes on; 130: "
        "interrupted, likewise.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument("contestants", nargs="+", metavar="CONTESTANT", help="NAME=PLACE[,KEY=VALUE …]; two or more")
    one.add_argument("--data", type=Path, required=True, metavar="FILE", help="labelled decisions: .jsonl or .csv")
    one.add_argument("--out", type=Path, metavar="DIR", help="journals, page and JSON (default: comparisons/DATA)")
    one.add_argument("--baseline", metavar="NAME", help="whom the others are held against (default: the first)")
    one.add_argument("--hourly-price", metavar="PRICE", help="of contestants without a price of their own")
    one.add_argument("--concurrency", type=_concurrency, default=1, metavar="N", help="asked at once (default: 1)")
    one.add_argument("--region", help="of endpoints (default: as every AWS tool finds it)")
    one.add_argument("--api-key-env", metavar="VAR", help="the environment variable that holds the servers' API key")
    add_deadline(one, default=50.0, of="one decision, its tries together")
    one.set_defaults(run=run)


def _concurrency(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_CONCURRENCY:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to {MAX_CONCURRENCY} is needed")
    return int(text)
