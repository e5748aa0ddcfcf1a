"""A server that is started for a model file: ready, refused with its reason, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from client.decisions import DecisionClient, DecisionError, Refused
from client.transport import local_model
from client.transport.local_model import reason
from tests.serving.server import ROOT

ONE_THREAD = {"DECISION_N_THREADS": "1"}


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def servers(model: Path) -> list[int]:
    """Processes that have this model in their environment."""
    found = []
    wanted = f"DECISION_MODEL_PATH={model.resolve()}".encode()
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def scripts(model: Path) -> dict[int, str]:
    return {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1].decode() for pid in servers(model)}


def copied(model: Path, folder: Path) -> Path:
    own = folder / "own.gguf"
    os.link(model, own)
    return own


def test_a_server_ends_with_its_client_also_after_an_error(tiny_model: Path, tmp_path: Path) -> None:
    model = copied(tiny_model, tmp_path)
    try:
        with DecisionClient.local(model, settings=ONE_THREAD):
            assert servers(model)
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert not servers(model)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_with_the_program_however_that_ends(tiny_model: Path, tmp_path: Path, number: int) -> None:
    model = copied(tiny_model, tmp_path)
    code = (
        "import sys, time; from client.decisions import DecisionClient; "
        f"client = DecisionClient.local({str(model)!r}, settings={ONE_THREAD!r}); print('ready', flush=True); "
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        assert servers(model)
        program.send_signal(number)
        program.wait(30)
    until(lambda: not servers(model))


@pytest.mark.parametrize("which", ["guarded.py", "serve"])
def test_a_server_that_ends_by_itself_is_told_as_the_reason(tiny_model: Path, tmp_path: Path, which: str) -> None:
    model = copied(tiny_model, tmp_path)
    with DecisionClient.local(model, settings=ONE_THREAD) as client:
        first = min(pid for pid, script in scripts(model).items() if script.endswith(which))
        os.kill(first, signal.SIGTERM)
        until(lambda: not servers(model))
        with pytest.raises(DecisionError, match=r"own\.gguf: its server ended: ") as failed:
            client.models()
        assert failed.value.code == "not_connected"


def test_the_settings_of_this_process_are_not_the_server_s(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECISION_MODEL_PATH", "/nowhere")
    monkeypatch.setenv("DECISION_NO_SUCH_SETTING", "1")
    with DecisionClient.local(tiny_model, settings=ONE_THREAD) as client:
        assert client.models()[0] == "tiny"


def test_a_server_that_does_not_start_says_why(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="DECISION_N_CTX: 'many' is not a whole number"):
        DecisionClient.local(tiny_model, settings={"DECISION_N_CTX": "many"})
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny_model.read_bytes()[:100])
    with pytest.raises(Refused, match=r"broken\.gguf"):
        DecisionClient.local(broken)
    assert not servers(broken)


def test_what_is_no_model_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no such file or folder"):
        DecisionClient.local(tmp_path / "absent.gguf")
    with pytest.raises(Refused, match=r"without manifest\.json"):
        DecisionClient.local(tmp_path)
    archive = tmp_path / "model.tar.gz"
    archive.touch()
    with pytest.raises(Refused, match="Remedy: unpack it"):
        DecisionClient.local(archive)


@pytest.mark.parametrize("name", ["DECISION_PORT", "DECISION_HOST", "DECISION_MODEL_PATH", "DECISION_API_KEY", "PATH"])
def test_settings_that_are_the_client_s_own_are_refused(tiny_model: Path, name: str) -> None:
    with pytest.raises(Refused, match=name):
        DecisionClient.local(tiny_model, settings={name: "1"})


def test_the_reason_of_an_end_is_the_error_in_the_log_or_its_last_line() -> None:
    log = '{"level": "info", "message": "a"}\n{"level": "error", "message": "b", "error": "why"}\n{"level": "error"}\n'
    assert reason(log) == "why"
    assert reason("Traceback\nserve: no such port\n") == "no such port"
    assert reason("") == "it ended without a word"


@pytest.mark.parametrize("which", ["guarded.py", "serve"])
def test_a_server_that_does_not_end_is_killed_with_a_word(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setattr(local_model, "STOP_SECONDS", 0.5)
    model = copied(tiny_model, tmp_path)
    said: list[str] = []
    client = DecisionClient.local(model, settings=ONE_THREAD, say=said.append)
    stopped = min(pid for pid, script in scripts(model).items() if script.endswith(which))
    os.kill(stopped, signal.SIGSTOP)
    try:
        client.close()
        until(lambda: not servers(model))
    finally:
        for left in servers(model):  # a stopped process would outlive the tests
            os.kill(left, signal.SIGKILL)
    assert said[-1] == f"warning: {model}: its server did not end within 0.5 s and is killed"
