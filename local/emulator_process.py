"""Starts, finds and stops the emulator's process. One emulator a workspace; its pid, port and address stand in one
file.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from local.images import modes
from local.workspace import Workspace

START_SECONDS = 60.0
_started: dict[int, subprocess.Popen[bytes]] = {}  # by this very process


class EmulatorError(Exception):
    """The emulator could not be started or stopped; the text says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class RunningEmulator:
    pid: int
    port: int
    image_mode: str | None = None  # that of its builds, fixed at its start; None: an older version wrote this file

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def find(workspace: Workspace) -> RunningEmulator | None:
    """The emulator of this workspace, when its process runs and is really ours; a pid may have been given to another
    since.
    """
    try:
        emulator = RunningEmulator(**json.loads(_pid_file(workspace).read_text()))
    except FileNotFoundError:
        return None
    return emulator if _is_ours(workspace, emulator.pid) else None


def start(workspace: Workspace, *, port: int, runner: str | None = None, enforce_iam: bool = False) -> RunningEmulator:
    """Returns once it answers. Whatever an earlier emulator of this workspace left behind is removed first.

    enforce_iam: requests are checked against the policies of who signs them.
    """
    shutil.rmtree(workspace.state, ignore_errors=True)
    workspace.logs.mkdir(parents=True)
    log = workspace.logs / "emulator.log"
    image_mode = modes.choose(os.environ).name
    command = [
        str(workspace.emulator_python), *_identity(workspace), str(workspace.cache),
        "--node-modules", str(workspace.node_modules), "--port", str(port),
        "--path", os.pathsep.join(map(str, workspace.tool_path)),
    ]  # fmt: skip
    if enforce_iam:
        command += ["--enforce-iam"]
    if runner:
        command += ["--runner", runner]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=workspace.tools,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C at the terminal must not end it before the stacks are gone
        )
    _started[process.pid] = process
    emulator = RunningEmulator(pid=process.pid, port=port, image_mode=image_mode)
    _pid_file(workspace).write_text(json.dumps(asdict(emulator)))
    try:
        _await_answer(process, emulator, log)
    except BaseException:
        stop(workspace)
        raise
    return emulator


def stop(workspace: Workspace) -> None:
    """Ends the emulator with all it started, and removes its state. Does nothing when none runs."""
    emulator = find(workspace)
    if emulator is not None:
        # It keeps nothing that is worth a slow goodbye; what it started ends itself as soon as it is gone.
        os.kill(emulator.pid, signal.SIGKILL)
        _await_end(emulator.pid)
    shutil.rmtree(workspace.state, ignore_errors=True)


def _await_answer(process: subprocess.Popen[bytes], emulator: RunningEmulator, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise EmulatorError(f"the emulator ended with code {process.returncode} at its start:\n{tail}")
        if _answers(emulator):
            return
        time.sleep(0.05)
    raise EmulatorError(f"the emulator did not answer within {START_SECONDS:g} s. Its log: {log}")


def _answers(emulator: RunningEmulator) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=2)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _await_end(pid: int) -> None:
    """The emulator leads its own session: it is over when no process of its group is left, leashes of builds and
    containers included.
    """
    deadline = time.monotonic() + 45  # a container has 30 s to end
    while time.monotonic() < deadline:
        if pid in _started and _started[pid].poll() is not None:  # our own child stays a zombie until it is asked
            del _started[pid]
        try:
            os.killpg(pid, 0)
        except (ProcessLookupError, PermissionError):
            return
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _is_ours(workspace: Workspace, pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return _has_arguments(_command_line(pid), _identity(workspace))


def _identity(workspace: Workspace) -> list[str]:
    """Arguments that the emulator of this workspace has, one after the other, and no other program."""
    return ["-m", "local.emulator", "--state", str(workspace.state), "--cache"]


@dataclass(frozen=True, kw_only=True)
class CommandLine:
    text: str
    separator: str


def _command_line(pid: int) -> CommandLine:
    if Path("/proc/self").exists():
        try:
            text = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            text = ""
        return CommandLine(text=text, separator="\0")
    # macOS has no /proc. A blank in a path looks like one between arguments here, in the identity as well.
    done = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return CommandLine(text=done.stdout, separator=" ")


def _has_arguments(line: CommandLine, wanted: list[str]) -> bool:
    """Whole arguments, in this order, never the beginning of a longer one: the folder `up` is not in `up2`."""
    return line.separator.join(["", *wanted, ""]) in line.text


def _pid_file(workspace: Workspace) -> Path:
    return workspace.state / "emulator.json"
