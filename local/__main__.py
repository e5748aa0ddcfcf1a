"""`python -m local up|ask|down|demo|status|logs`: the real cdk app, deployed to an AWS that runs on this machine."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from botocore.exceptions import BotoCoreError, ClientError

from local import commands, inspection
from local.console import Console
from local.demo import DemoFailed
from local.emulator_process import EmulatorError
from local.images.errors import ImageError
from local.ports import PortTaken, port_number
from local.workspace import CHECKOUT, Workspace, WorkspaceError


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    name = options.state if options.state is not None else ("demo" if options.command == "demo" else "up")
    try:
        workspace = Workspace(root=options.root.resolve(), name=name, environment=options.environment)
    except WorkspaceError as error:
        parser().error(f"argument --state: {error}")
    console = Console()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(options, workspace, console)
    except (EmulatorError, ImageError, PortTaken, WorkspaceError, DemoFailed) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"{options.command}: the emulator answers: {error}", file=sys.stderr)
    except commands.CommandFailed:
        print(f"{options.command}: failed", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"{options.command}: interrupted", file=sys.stderr)
        return 130
    return 1


def _run(options: argparse.Namespace, workspace: Workspace, console: Console) -> int:
    match options.command:
        case "up":
            deployment = commands.up(workspace, port=options.port, console=console)
            commands.print_exports(deployment, console)
        case "ask":
            commands.ask(workspace, console=console)
        case "down":
            commands.down(workspace, console=console)
        case "demo":
            commands.demo(workspace, port=options.port, console=console)
            console.step("done; nothing is left running")
        case "status":
            return 0 if inspection.status(workspace, console=console) else 3
        case "logs":
            inspection.logs(workspace, kind=options.kind, lines=options.lines, console=console)
    return 0


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    root.add_argument("--root", type=Path, default=CHECKOUT, help="the app to deploy (default: this checkout)")
    root.add_argument("--state", help="name of the emulator, to run several beside each other (default: up, or demo)")
    root.add_argument("--environment", default="local", help="which environment of the app (default: local)")
    command = root.add_subparsers(dest="command", required=True)
    for name, about in (
        ("up", "start the emulator and deploy; a second time: deploy what changed"),
        ("demo", "up, a few decisions, down"),
    ):
        sub = command.add_parser(name, help=about)
        sub.add_argument(
            "--port", type=_port, help="of the emulator on 127.0.0.1 (default: 4566, or a free one if it is taken)"
        )
    command.add_parser("ask", help="put the demo's decisions to the endpoint that runs")
    command.add_parser("down", help="destroy the stacks and stop the emulator")
    command.add_parser("status", help="what runs; exit code 3 when nothing does")
    logs = command.add_parser("logs", help="the ends of the logs")
    logs.add_argument("kind", nargs="?", default="endpoints", choices=("endpoints", "builds", "cdk", "emulator"))
    logs.add_argument("--lines", type=int, default=40)
    return root


def _port(text: str) -> int:
    try:
        return port_number(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """A polite request to end is cleaned up after like Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
