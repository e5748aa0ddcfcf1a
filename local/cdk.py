"""Runs the real cdk command line against the emulator: everything into a log file, the lines that matter to the
console.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from local import aws
from local.console import Say
from local.workspace import Workspace

# `STACK | 3/9 | 4:12:30 PM | CREATE_FAILED | AWS::S3::Bucket | Store/Bucket (StoreBucket1A2B) reason`
EVENT = re.compile(r"^\s*(?P<stack>[\w-]+) \|.*\| (?P<status>[A-Z_]+)\s*\| (?P<type>[\w:]+)\s*\| (?P<rest>.*)$")


class CdkFailed(Exception):
    """The command ended with a code other than 0. `lines`: its last ones."""

    def __init__(self, command: str, code: int, lines: list[str]) -> None:
        super().__init__(f"cdk {command} ended with code {code}")
        self.lines = lines


def bootstrap(workspace: Workspace, url: str, *, say: Say) -> None:
    """Away from the app: with an account given it is not asked anything, and need not be synthesized."""
    _run(workspace, url, ["bootstrap", f"aws://{aws.ACCOUNT}/{aws.REGION}"], say=say, folder=workspace.state)


def run(workspace: Workspace, url: str, arguments: Sequence[str], *, say: Say) -> None:
    """Runs a command on the app. Raises CdkFailed. However it ends, the command and its children are gone."""
    output = str(workspace.state / "cdk.out")
    _run(workspace, url, [*arguments, "--output", output], say=say, folder=workspace.root)


def _run(workspace: Workspace, url: str, arguments: Sequence[str], *, say: Say, folder: Path) -> None:
    log = workspace.logs / "cdk.log"
    environment = aws.cdk_environment(url, base=os.environ, path_first=workspace.environment_bin, cache=workspace.cache)
    process = subprocess.Popen(
        [str(workspace.cdk), *arguments, "--no-notices", "--ci"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        lines = _follow(process, log, say)
        code = process.wait()
    finally:
        _end(process)
    if code != 0:
        raise CdkFailed(arguments[0], code, lines[-40:])


def _follow(process: subprocess.Popen[str], log: Path, say: Say) -> list[str]:
    lines: list[str] = []
    said = ""
    if process.stdout is None:
        raise RuntimeError("cdk was started without a pipe")
    with log.open("a", encoding="utf-8") as file:
        for line in process.stdout:
            text = line.rstrip()
            file.write(text + "\n")
            file.flush()
            lines.append(text)
            shown = worth_showing(text)
            if shown and shown != said:  # cdk repeats a failure in its summary
                say(shown)
                said = shown
    return lines


def worth_showing(line: str) -> str | None:
    """The short form of a line that a person wants to see, None for the rest."""
    event = EVENT.match(line)
    if event:
        if "FAILED" in event["status"]:
            return f"{event['stack']}: {event['status']} {event['rest'].split(' (')[0].strip()}"
        return None
    text = line.strip()
    for pattern, form in (
        (r"✨\s+Synthesis time: (.*)", "app synthesized in {0}"),
        (r"(\S+): deploying\.\.\..*", "{0}: deploying"),
        (r"(\S+): destroying\.\.\..*", "{0}: destroying"),
        (r"✅\s+(\S+) \(no changes\)", "{0}: no changes"),
        (r"✅\s+(\S+): destroyed", "{0}: destroyed"),
        (r"✅\s+(Environment \S+) bootstrapped.*", "{0} bootstrapped"),
        (r"✅\s+(\S+)", "{0}: done"),
        (r"❌\s+(.*)", "{0}"),
    ):
        if found := re.fullmatch(pattern, text):
            return form.format(*found.groups())
    return None


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()
