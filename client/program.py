"""The commands of `python -m client`, and what each end of one says and returns."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from client import asynchronous_command, bulk_command
from client.calibration import command as calibration_command
from client.comparison import command as comparison_command
from client.decide import command as decide_command
from client.errors import FAULT, INTERRUPTED, JOB_FAILED, REFUSED, JobFailed, Refused
from client.evaluation import command as evaluation_command
from client.gateway import command as gateway_command
from client.playground import command as playground_command
from client.readouts import command as readouts_command
from client.terminal import READER_GONE, give_up_output, shown_lines


def run(arguments: list[str] | None) -> int:
    options = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace, Callable[[str], None]], int] = options.run
    say = _narrator()
    try:
        code = command(options, say)
        sys.stdout.flush()
        return code
    except Refused as error:
        _tell(options.command, str(error))
        return REFUSED
    except JobFailed as error:
        _tell(options.command, str(error))
        return JOB_FAILED
    except (BotoCoreError, ClientError) as error:
        _tell(options.command, f"AWS cannot be asked: {error}")
        return REFUSED
    except BrokenPipeError:  # `| head` has read enough
        give_up_output()
        return READER_GONE
    except OSError as error:
        give_up_output()
        _tell(options.command, f"a file or standard output cannot be used: {error}")
        return JOB_FAILED
    except KeyboardInterrupt:
        _tell(options.command, "interrupted")
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - Python itself would end with 1, which says that something was found out
        traceback.print_exc()
        _tell(options.command, "a fault of this program, not of what it was given; what was answered is kept")
        return FAULT


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m client", description="What a caller of an endpoint runs.")
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
        print(f"[{time.monotonic() - started:7.1f} s] {shown_lines(text)}", file=sys.stderr, flush=True)

    return say


def _tell(command: str, text: str) -> None:
    """text: it may hold a server's words."""
    print(f"{command}: {shown_lines(text)}", file=sys.stderr)
