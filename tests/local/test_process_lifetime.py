"""What the emulator starts never outlives it, and what is not the emulator is never ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from local import emulator_process, ports
from local.emulator.leashed_process import LeashedProcess
from local.workspace import CHECKOUT, Workspace, WorkspaceError
from tests.local.conftest import eventually
from tests.local.test_sagemaker_plane import alive

STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def test_a_process_that_ignores_the_polite_end_is_killed_with_its_children(tmp_path: Path) -> None:
    lines: list[str] = []
    process = LeashedProcess(
        [sys.executable, "-c", STUBBORN], env=dict(os.environ), cwd=tmp_path, write=lines.append, grace=0.2
    )
    pid = int(eventually(lambda: lines)[0])
    process.end()
    assert not alive(pid)
    assert process.exit_code is not None


def test_output_and_exit_code_of_a_process_are_complete_when_it_has_ended(tmp_path: Path) -> None:
    lines: list[str] = []
    command = [sys.executable, "-c", "print('x' * 100_000); print('last'); raise SystemExit(5)"]
    process = LeashedProcess(command, env=dict(os.environ), cwd=tmp_path, write=lines.append, grace=1)
    assert process.wait(20) == 5
    assert [len(lines[0]), lines[1]] == [100_000, "last"]
    process.end()


def test_a_process_ends_when_its_owner_is_killed_outright(tmp_path: Path) -> None:
    owner = textwrap.dedent(f"""
        import os, sys, time
        from pathlib import Path
        from local.emulator.leashed_process import LeashedProcess
        LeashedProcess([sys.executable, "-c", {STUBBORN!r}], env=dict(os.environ), cwd=Path("."),
                       write=lambda line: print(line, flush=True), grace=0.2)
        time.sleep(600)
    """)
    with subprocess.Popen([sys.executable, "-c", owner], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    eventually(lambda: not alive(pid))


def test_a_pid_that_belongs_to_another_program_by_now_is_neither_found_nor_ended() -> None:
    workspace = Workspace(root=CHECKOUT, name=f"tests-stale-{os.getpid()}")
    workspace.logs.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other:
        (workspace.state / "emulator.json").write_text(json.dumps({"pid": other.pid, "port": 1}))
        assert emulator_process.find(workspace) is None
        emulator_process.stop(workspace)
        assert other.poll() is None
        other.kill()
    assert not workspace.state.exists()


@pytest.mark.parametrize("proc", [True, False], ids=["proc", "ps"])
@pytest.mark.parametrize(("suffix", "ours"), [("", True), ("2", False), ("-other", False), ("/logs", False)])
def test_the_emulator_of_a_folder_whose_name_only_begins_alike_is_not_ours(
    suffix: str, ours: bool, proc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(root=CHECKOUT, name=f"tests-alike-{os.getpid()}")
    if not proc:
        own = Path.exists
        monkeypatch.setattr(Path, "exists", lambda path: str(path) != "/proc/self" and own(path))
    sleep = "import sys, time; print('up', flush=True); time.sleep(600)"
    arguments = ["-m", "local.emulator", "--state", f"{workspace.state}{suffix}", "--cache", str(workspace.cache)]
    with subprocess.Popen([sys.executable, "-c", sleep, *arguments], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            workspace.logs.mkdir(parents=True)
            (workspace.state / "emulator.json").write_text(json.dumps({"pid": process.pid, "port": 1}))
            assert (emulator_process.find(workspace) is not None) is ours
            if not ours:
                emulator_process.stop(workspace)
                assert process.poll() is None
        finally:
            process.kill()
            shutil.rmtree(workspace.state, ignore_errors=True)


def test_a_wanted_port_that_is_taken_is_refused_and_the_usual_one_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ports.PortTaken, match=f"port {port} on 127.0.0.1 is taken"):
            ports.choose_port(port)
        monkeypatch.setattr(ports, "DEFAULT_PORT", port)
        chosen, note = ports.choose_port(None)
    assert chosen != port
    assert note == f"port {port} is taken by another program; using {chosen}"


def test_an_emulator_that_cannot_start_says_why_and_leaves_nothing() -> None:
    workspace = Workspace(root=CHECKOUT, name=f"tests-broken-{os.getpid()}")
    with pytest.raises(emulator_process.EmulatorError, match="No module named 'no_such_module'"):
        emulator_process.start(workspace, port=ports.choose_port(None)[0], runner="no_such_module:prepare")
    assert not workspace.state.exists()


def test_a_workspace_without_its_tools_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"\.venv-emulator/bin/python is missing\. Remedy: run `make setup`"):
        Workspace(root=tmp_path, name="x", tools=tmp_path).check()
