"""How `decide` ends where not all goes well: exit codes, what is said of each line, and never a traceback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.client_process import environment
from tests.client.evaluation import scripted_server
from tests.client.evaluation.scripted_server import ScriptedServer
from tests.client.test_decide import ASKS, TWO, Terminal
from tests.serving.server import ROOT, decision

LINES = b"\n".join(json.dumps(decision(id=str(number))).encode() for number in range(6))
NO_KEY = (401, {"error": "the \x1b[2Jkey", "code": "authentication_error", "retryable": False})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server.running() as running:
        yield running


@pytest.fixture
def terminal(server: ScriptedServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch, "--url", server.url)


def program(server: ScriptedServer, tmp_path: Path, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "client", "decide", "--url", server.url, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment(tmp_path, {}), stderr=subprocess.PIPE, **more)


def test_what_a_server_has_no_place_for_may_be_answered_later(server: ScriptedServer, terminal: Terminal) -> None:
    server.before = lambda number: (429, {"error": "slowly", "code": "rate", "retry_after_seconds": 100})
    assert terminal.decide(*ASKS, *TWO, "--json") == 3
    assert (terminal.told[0]["status"], terminal.told[0]["retryable"]) == (429, True)
    assert len(server.ids) == 1
    server.before = lambda number: (429, {"error": "never", "code": "quota", "retryable": False})
    assert terminal.decide(*ASKS, *TWO, "--json") == 2
    assert terminal.told[0]["retryable"] is False


def test_a_file_that_an_error_ends_has_a_record_for_each_line(server: ScriptedServer, terminal: Terminal) -> None:
    server.before = lambda number: NO_KEY if number >= 3 else None
    assert terminal.decide("--input", "-", "--json", "--concurrency", "1", stdin=LINES) == 1
    assert [each["line"] for each in terminal.told] == [1, 2, 3, 4, 5, 6]
    assert [each.get("code") for each in terminal.told] == [None, None, "authentication_error", *3 * ["not_asked"]]
    assert terminal.told[3]["error"] == "line 3 ended the file"


def test_a_file_that_an_error_ends_is_told_to_people_in_numbers(server: ScriptedServer, terminal: Terminal) -> None:
    server.before = lambda number: NO_KEY if number >= 3 else None
    assert terminal.decide("--input", "-", "--concurrency", "1", stdin=LINES) == 1
    first, second = terminal.err.splitlines()
    assert first == "decide: line 3: the \\x1b[2Jkey"
    assert second == "decide: line 3 ended the file: answered are 2 of the lines before it, none of 3 after it"


def test_a_reader_that_goes_away_ends_it_without_a_word(server: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join([LINES] * 40))
    arguments = ("--input", str(path), "--json", "--concurrency", "1")
    with program(server, tmp_path, *arguments, stdout=subprocess.PIPE) as asking:
        assert asking.stdout is not None
        assert asking.stderr is not None
        assert json.loads(asking.stdout.readline())["line"] == 1
        asking.stdout.close()
        assert asking.wait(60) == 141
        assert asking.stderr.read() == b""


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_output_that_takes_nothing_is_an_error_in_a_sentence(
    server: ScriptedServer, tmp_path: Path, more: tuple[str, ...]
) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        program(server, tmp_path, *ASKS, *TWO, *more, stdout=full) as asking,
    ):
        _, told = asking.communicate(timeout=60)
    assert asking.returncode == 3
    assert told.decode() == "decide: a file or standard output cannot be used: [Errno 28] No space left on device\n"


def test_an_interrupt_while_it_begins_is_one_too(server: ScriptedServer, tmp_path: Path) -> None:
    """A library that is imported stands in for the moment in which Ctrl-C comes."""
    (tmp_path / "boto3.py").write_text(f"import signal\nsignal.raise_signal({int(signal.SIGINT)})\n")
    more = {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "client", "decide", "--url", server.url, *ASKS, *TWO]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(tmp_path, more), capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")
