"""`python -m client invoke-async`: arguments in, a table and an exit code out."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from client import asynchronous, stack_outputs
from client.aws import Clients, with_clients
from client.errors import ANSWERED, INTERRUPTED, SOME_FAILED, Refused
from client.json_lines import BadLine, read_object
from client.table import render_decision
from client.waiting import pauses

Say = Callable[[str], None]


def run(options: argparse.Namespace, clients: Clients, say: Say) -> int:
    body = _read(options.input)
    bucket = stack_outputs.artifact_bucket(clients.cloudformation, options.endpoint_name)
    pending = asynchronous.invoke(clients, endpoint=options.endpoint_name, bucket=bucket, body=body)
    say(f"queued; the answer will be {pending.output}")
    if not options.wait:
        print(pending.output)
        return ANSWERED
    limited = functools.partial(pauses, limit_seconds=options.wait_seconds)
    try:
        answer = asynchronous.wait(clients.s3, pending, pauses=limited)
    except KeyboardInterrupt:
        say(f"interrupted; the request goes on, and its answer will be {pending.output}")
        return INTERRUPTED
    if options.output:
        options.output.write_bytes(answer.body)
    if not answer.ok:
        say(f"the endpoint failed on it: {answer.body.decode('utf-8', 'replace')}")
        return SOME_FAILED
    _show(json.loads(body), json.loads(answer.body))
    return ANSWERED


def _read(path: Path) -> bytes:
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Refused(f"--input {path}: {error.strerror or error}") from error
    try:
        return asynchronous.request_body(read_object(content))
    except BadLine as error:
        raise Refused(f"--input {path}: {error}") from error


def _show(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    decisions = asked["decisions"] if "decisions" in asked else [asked["decision"]]
    results = answer["results"] if "results" in answer else [answer["result"]]
    for decision, result in zip(decisions, results, strict=True):
        print(f"\n  {decision['question']}")
        print(render_decision(result, decision["options"], colour=sys.stdout.isatty()))


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    one = commands.add_parser(
        "invoke-async",
        help="one request to an endpoint that is hosted asynchronously",
        description="Queues a request and waits for its answer. Exit code 0: answered; 1: the endpoint failed on it; "
        "2: nothing was queued; 3: no answer in time.",
    )
    one.add_argument("--endpoint-name", required=True, help="as deployed, such as decision-dev-scoring")
    one.add_argument(
        "--input", type=Path, required=True, help="JSON: a decision, or `decision`, `decisions`; - is stdin"
    )
    one.add_argument("--output", type=Path, help="where the answer's JSON goes besides")
    one.add_argument("--wait", action=argparse.BooleanOptionalAction, default=True, help="for the answer")
    one.add_argument("--wait-seconds", type=float, default=900.0, help="at most (default: 900)")
    one.add_argument("--region", help="(default: as every AWS tool finds it)")
    one.set_defaults(run=with_clients(run))
