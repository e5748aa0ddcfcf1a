"""`python -m client bulk`, `bulk stop`, `bulk list`: arguments in, lines and an exit code out."""

from __future__ import annotations

import argparse
import secrets
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from client import bulk_input, bulk_record, stack_outputs, transform_jobs
from client.aws import Clients, with_clients
from client.bulk_record import Run
from client.bulk_run import BulkRunner, Say
from client.bulk_store import BulkStore
from client.errors import ANSWERED, INTERRUPTED, SOME_FAILED, JobFailed, Refused
from client.transform_jobs import RUNNING, TransformJobs
from client.waiting import pauses

MEGABYTE = 1_000_000


def run(options: argparse.Namespace, clients: Clients, say: Say) -> int:
    match options.action:
        case "stop":
            return _stop(options, clients, say)
        case "list":
            return _list(options, clients)
        case _:
            return _bulk(options, clients, say)


def _bulk(options: argparse.Namespace, clients: Clients, say: Say) -> int:
    _check_arguments(options)
    jobs = TransformJobs(clients.sagemaker)
    if options.resume:
        found, store = _found(options.resume, options.endpoint_name, clients)
        runner = BulkRunner(store, jobs, say=say, wait=pauses)
        begun = runner.go_on(found)
    else:
        definition = stack_outputs.bulk_job(clients.cloudformation, options.endpoint_name)
        checked = bulk_input.check(options.input, max_bytes=int(definition["MaxPayloadInMB"]) * MEGABYTE)
        _set_aside(checked, options, say)
        store = _store(clients, definition)
        runner = BulkRunner(store, jobs, say=say, wait=pauses)
        begun = runner.start(checked, definition, name=options.job_name or _new_name(options.endpoint_name))
    if not options.wait:
        print(begun.name)
        say(f"not waiting. For the answers: python -m client bulk --resume {begun.name} --output FILE")
        return ANSWERED
    try:
        summary = runner.collect(runner.finish(begun), options.output)
    except (BotoCoreError, ClientError) as error:
        raise JobFailed(
            f"AWS cannot be asked: {error}\nThe job goes on. To wait for it: --resume {begun.name}"
        ) from error
    except KeyboardInterrupt:
        say(
            f"interrupted; the job goes on. To wait for it: python -m client bulk --resume {begun.name} --output "
            f"{options.output}\nTo stop it, and what it costs: python -m client bulk stop {begun.name}"
        )
        return INTERRUPTED
    say(
        f"{options.output}: {summary.answered} lines answered, {summary.refused} refused by the server, "
        f"{summary.left_out} left out"
    )
    return ANSWERED if summary.refused == summary.left_out == 0 else SOME_FAILED


def _check_arguments(options: argparse.Namespace) -> None:
    if bool(options.resume) == bool(options.input):
        raise Refused("one of --input FILE and --resume JOB is needed")
    if options.input and not options.endpoint_name:
        raise Refused("--endpoint-name is needed with --input")
    if options.resume and options.job_name:
        raise Refused("--job-name names a new run; it does not go with --resume")
    if options.wait and not options.output:
        raise Refused("--output FILE is needed, or --no-wait")
    if options.output and options.output.exists():
        raise Refused(f"--output {options.output}: is there already. Remedy: another name, or remove it")
    if options.output and not options.output.absolute().parent.is_dir():
        raise Refused(f"--output {options.output}: there is no such folder. Remedy: make it")


def _set_aside(checked: bulk_input.Checked, options: argparse.Namespace, say: Say) -> None:
    if not options.skip_invalid:
        bulk_input.refuse_problems(checked)
    elif checked.problems:
        target = options.input.with_name(options.input.name + ".invalid.jsonl")
        bulk_input.set_aside(checked, target)
        say(f"{len(checked.problems)} of {checked.lines} lines cannot be asked; they and the reasons are in {target}")
    if not checked.good:
        raise Refused(f"{options.input}: no line that can be asked; no job was started")


def _stop(options: argparse.Namespace, clients: Clients, say: Say) -> int:
    found, _ = _found(options.job, options.endpoint_name, clients)
    job, jobs = found.rounds[-1].job, TransformJobs(clients.sagemaker)
    state = jobs.state(job)
    if state is None or state.status not in RUNNING:
        say(f"job {job} does not run: {state.status if state else 'it was never started'}")
        return ANSWERED
    jobs.stop(job)
    say(f"job {job} is being stopped. What it answered stays; to ask the rest: bulk --resume {found.name}")
    return ANSWERED


def _list(options: argparse.Namespace, clients: Clients) -> int:
    for each in TransformJobs(clients.sagemaker).latest(contains=options.endpoint_name, count=options.count):
        print(f"{each.created:%Y-%m-%d %H:%M}  {each.status:<10}  {each.name}")
    return ANSWERED


def _found(name: str, endpoint: str | None, clients: Clients) -> tuple[Run, BulkStore]:
    """A run by its name: its first job knows where it reads, else the endpoint's stack does. Raises Refused."""
    if endpoint:
        definition = stack_outputs.bulk_job(clients.cloudformation, endpoint)
        store = _store(clients, definition)
    else:
        state = TransformJobs(clients.sagemaker).state(name)
        if state is None or not state.input_uri.endswith(f"/{name}/"):
            raise Refused(
                f"job {name}: no bulk run of this name is known to SageMaker in this region. Remedy: `bulk list`, or "
                "name its endpoint with --endpoint-name"
            )
        inputs = state.input_uri.removesuffix(f"{name}/")
        store = BulkStore(clients.s3, input_uri=inputs, output_uri=inputs)  # only its record is read with this one
    record = store.record(name)
    if record is None:
        raise Refused(f"job {name}: {store.where(name)}.json is not there: not a run of `python -m client bulk`")
    found = bulk_record.from_json(record)
    return found, _store(clients, found.definition)


def _store(clients: Clients, definition: dict[str, Any]) -> BulkStore:
    return BulkStore(
        clients.s3,
        input_uri=definition["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"],
        output_uri=definition["TransformOutput"]["S3OutputPath"],
    )


def _new_name(endpoint: str) -> str:
    now = datetime.now(timezone.utc)
    return f"{endpoint[:38].rstrip('-')}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bulk = commands.add_parser(
        "bulk",
        help="many decisions at once, one a line, through SageMaker Batch Transform",
        description="Asks every line of a file and writes an answer for each, in the same order. Exit code 0: all "
        "answered; 1: some lines have an error in place; 2: nothing was started; 3: the job failed.",
    )
    _common(bulk)
    bulk.add_argument("--input", type=Path, help="JSON Lines: a decision a line, or an object with `decision`")
    bulk.add_argument("--output", type=Path, help="JSON Lines: the answers; a file that is not there yet")
    bulk.add_argument("--wait", action=argparse.BooleanOptionalAction, default=True, help="for the answers")
    bulk.add_argument("--job-name", type=_job_name, help="of a new run (default: made from the endpoint and the time)")
    bulk.add_argument("--resume", metavar="JOB", type=_job_name, help="go on with a run that was started before")
    bulk.add_argument(
        "--skip-invalid",
        action="store_true",
        help="leave out lines that cannot be asked; INPUT.invalid.jsonl lists them",
    )
    bulk.set_defaults(action=None, run=with_clients(run))
    actions = bulk.add_subparsers(dest="action", required=False)
    stop = actions.add_parser("stop", help="stop a run's job")
    stop.add_argument("job", metavar="JOB", type=_job_name)
    _common(stop, default=argparse.SUPPRESS)  # said before `stop` or after it
    listed = actions.add_parser("list", help="the latest transform jobs")
    listed.add_argument("--count", type=int, choices=range(1, 101), default=20, metavar="1-100")
    _common(listed, default=argparse.SUPPRESS)


def _common(parser: argparse.ArgumentParser, **default: Any) -> None:
    parser.add_argument("--endpoint-name", help="as deployed, such as decision-dev-scoring", **default)
    parser.add_argument("--region", help="(default: as every AWS tool finds it)", **default)


def _job_name(text: str) -> str:
    try:
        return transform_jobs.check_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
