"""`python -m client COMMAND`: what a caller of an endpoint runs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from client import asynchronous_command, bulk_command
from client.calibration import command as calibration_command
from client.comparison import command as comparison_command
from client.decide import command as decide_command
from client.errors import INTERRUPTED, JOB_FAILED, REFUSED, JobFailed, Refused
from client.evaluation import command as evaluation_command
from client.gateway import command as gateway_command
from client.playground import command as playground_command
from client.readouts import command as readouts_command


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace, Callable[[str], None]], int] = options.run
    say = _narrator()
    try:
        return command(options, say)
    except Refused as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return REFUSED
    except JobFailed as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return JOB_FAILED
    except (BotoCoreError, ClientError) as error:
        print(f"{options.command}: AWS cannot be asked: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print(f"{options.command}: interrupted", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m client", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    decide_command.add_parser(commands)
    bulk_command.add_parser(commands)
    asynchronous_command.add_parser(commands)
    gateway_command.add_parser(commands)
    evaluation_command.add_parser(commands)
    readouts_command.add_parser(commands)
    playground_command.add_parser(commands)
    calibration_command.add_parser(commands)
    comparison_command.add_parser(commands)
    return root


def _narrator() -> Callable[[str], None]:
    """Progress goes to standard error, so that standard output is for what a script reads."""
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:7.1f} s] {text}", file=sys.stderr, flush=True)

    return say


if __name__ == "__main__":
    sys.exit(main())
