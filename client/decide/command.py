"""`python -m client decide`: arguments in, answers and an exit code out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from client.decide import lines
from client.decide.asked import Asked, asked
from client.decide.in_order import mapped
from client.decide.telling import ENDS_IT, ForPeople, ForPrograms, Outcome, Told
from client.decisions import DecisionClient, DecisionError
from client.decisions.client import CONNECTIONS, DEADLINE_SECONDS
from client.errors import ANSWERED, JOB_FAILED, REFUSED, SOME_FAILED, Refused
from client.transport.arguments import add_deadline, add_target, target_of

Say = Callable[[str], None]
_EXAMPLES = """examples:
  python -m client decide --url http://127.0.0.1:8080 --state "I was charged twice." \\
      --question "Which team?" --option billing="Payments and invoices" --option login="Access to the account"
  python -m client decide --endpoint-name decision-dev-scoring --type noul --state-file mail.txt \\
      --question "Does the customer want money back?" --abstain-below 0.8
  python -m client decide --model model.gguf --type score --state "It is on fire." \\
      --question "How urgent is it?" --level "Can wait" --level "Today" --level "Now"
  python -m client decide --endpoint-name decision-dev-scoring --input decisions.jsonl --json > answers.jsonl

exit codes: 0 answered; 1 some were not; 2 nothing was, for what was asked or whom; 3 nothing was, for another reason,
or what was could not be written; 141 who read the output went away
"""


def run(options: argparse.Namespace, say: Say) -> int:
    try:
        return _run(options, say)
    except Refused as error:
        if not options.json:
            raise
        print(lines.error_line(DecisionError("refused", str(error)), line=None), flush=True)
        return REFUSED


def _run(options: argparse.Namespace, say: Say) -> int:
    questions, target = asked(options), target_of(options)
    told: Told = ForPrograms() if options.json else ForPeople()
    answered, failed = 0, list[DecisionError]()
    with DecisionClient(target, deadline_seconds=options.deadline, say=say) as client:
        outcomes = mapped(lambda each: _outcome(client, each), questions, at_once=options.concurrency)
        with closing(outcomes):
            for index, (each, outcome) in enumerate(zip(questions, outcomes, strict=True)):
                told.outcome(each, outcome)
                if not isinstance(outcome, DecisionError):
                    answered += 1
                    continue
                failed.append(outcome)
                if outcome.code in ENDS_IT and each.line is not None:
                    told.end(each.line, answered=answered, rest=questions[index + 1 :])
                    break
    return _exit_code(answered, failed)


def _outcome(client: DecisionClient, each: Asked) -> Outcome:
    try:
        return client.ask_body(each.body)
    except DecisionError as error:
        return error


def _exit_code(answered: int, failed: Sequence[DecisionError]) -> int:
    if not failed:
        return ANSWERED
    if answered:
        return SOME_FAILED
    return REFUSED if all(map(_is_theirs, failed)) else JOB_FAILED


def _is_theirs(error: DecisionError) -> bool:
    """Of who asks: what is asked, or whom."""
    if error.code in ENDS_IT:
        return True
    return error.status is not None and 400 <= error.status < 500 and not error.retryable


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "decide",
        help="ask for a decision, and see the probability of each option",
        usage="python -m client decide (--endpoint-name NAME | --url URL | --model PATH) [what to ask] [how]",
        description="Asks a SageMaker endpoint, a server or a local model for decisions.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target(one)
    what = one.add_argument_group("what to ask")
    what.add_argument("--state", metavar="TEXT", help="the evidence to decide on")
    what.add_argument("--state-json", metavar="JSON", help="the same as an object or a list")
    what.add_argument("--state-file", metavar="PATH", type=Path, help="the same as a text file; - is standard input")
    what.add_argument("--question", metavar="TEXT", help="what is to be decided")
    what.add_argument("--option", metavar="ID=TEXT", action="append", help="an option and what it means; repeated")
    what.add_argument("--type", choices=("noul", "choice", "score"), help="ask a question of System One instead")
    what.add_argument("--true", metavar="TEXT", help="what yes means, of a noul")
    what.add_argument("--false", metavar="TEXT", help="what no means, of a noul")
    what.add_argument("--level", metavar="TEXT", action="append", help="of a score, from the lowest; repeated")
    what.add_argument("--readout", help="letters, letters-rotated or likelihood (default: the server's)")
    what.add_argument("--prompt-version", help="(default: the readout's)")
    what.add_argument("--abstain-below", metavar="P", type=float, help="mark an answer that is less sure than this")
    what.add_argument(
        "--input", metavar="PATH", type=Path, help="instead: a JSON body, or JSON Lines of them; - is standard input"
    )
    how = one.add_argument_group("how")
    how.add_argument("--json", action="store_true", help="a line of JSON for each answer or error")
    how.add_argument("--concurrency", metavar="N", type=_count, default=4, help="lines asked at once (default: 4)")
    add_deadline(how, default=DEADLINE_SECONDS, of="a request, all tries together")
    one.set_defaults(run=run)


def _count(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= value <= CONNECTIONS:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to {CONNECTIONS} is needed")
    return value
