"""What `python -m local` refuses before it starts, stops or removes anything, and how it takes a reader that leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local import commands, emulator_process
from local.__main__ import main
from local.console import Console
from local.images import modes
from local.workspace import CHECKOUT, Workspace, WorkspaceError

HAS_BUILDAH = modes.obstacle_to_buildah() is None


@pytest.fixture
def untouchable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts, looks for or stops an emulator fails."""

    def touched(*_: object, **__: object) -> None:
        raise AssertionError("an emulator was touched")

    for name in ("start", "find", "stop"):
        monkeypatch.setattr(emulator_process, name, touched)


@pytest.mark.usefixtures("untouchable")
@pytest.mark.parametrize("name", ["../../victim", "..", ".", "", "a/b", "/tmp", "a.b", "é", "up\n", "x" * 41])
@pytest.mark.parametrize("command", ["up", "down", "demo", "status"])
def test_a_state_that_is_no_plain_name_is_refused_by_every_command(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--state", name, command])
    assert ended.value.code == 2
    assert f"argument --state: the emulator's name is {name!r}; 1 to 40 letters" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x" * 40, "my_second-1"])
def test_a_plain_name_is_a_folder_of_the_cache(name: str) -> None:
    workspace = Workspace(root=CHECKOUT, name=name)
    assert workspace.state.parent == CHECKOUT / ".cache" / "local" / "emulators"


@pytest.mark.usefixtures("untouchable")
@pytest.mark.parametrize("port", ["0", "80", "1023", "65536", "80000", "-1", "4566.0", "x", "", "²"])
def test_a_port_that_no_emulator_can_listen_on_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["up", f"--port={port}"])
    assert ended.value.code == 2
    message = f"argument --port: {port!r} given; a whole number from 1024 to 65535 is allowed"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("port", [1024, 65535])
def test_the_first_and_the_last_port_are_taken_as_they_are(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int | None] = []

    def demo(workspace: Workspace, *, port: int | None, console: Console) -> None:
        seen.append(port)

    monkeypatch.setattr(commands, "demo", demo)
    assert main(["demo", "--port", str(port)]) == 0
    assert seen == [port]


@pytest.mark.usefixtures("untouchable")
@pytest.mark.parametrize("command", ["up", "demo"])
def test_an_unknown_image_mode_is_refused_before_an_emulator_starts(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOCAL_IMAGE_MODE", "foo")
    assert main(["--state", "tests-mode", command]) == 1
    assert capsys.readouterr().err == (
        f"{command}: LOCAL_IMAGE_MODE: 'foo' given; buildah or venv allowed, or leave it out\n"
    )


def test_a_root_without_an_app_is_not_blamed_on_the_set_up(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"^no CDK app in .*: it has no cdk\.json\. Remedy: --root") as refused:
        Workspace(root=tmp_path, name="x").check()
    assert "make setup" not in str(refused.value)


def test_a_reader_that_leaves_early_is_no_error_and_does_not_stop_the_work() -> None:
    work = "from local.console import Console; c = Console(); c.plain('a'); c.plain('b'); raise SystemExit(7)"
    for command, code in (
        (["-m", "local", "--state", f"tests-none-{os.getpid()}", "status"], 3),
        (["-c", work], 7),
    ):
        read, write = os.pipe()
        os.close(read)
        try:
            ended = subprocess.run(
                [sys.executable, *command], cwd=CHECKOUT, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60
            )
        finally:
            os.close(write)
        assert (ended.returncode, ended.stderr) == (code, "")


def test_an_image_mode_that_the_running_emulator_was_not_started_with_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = emulator_process.RunningEmulator(pid=1, port=4566, image_mode="venv" if HAS_BUILDAH else "buildah")
    monkeypatch.setattr(emulator_process, "find", lambda workspace: running)
    monkeypatch.setenv("LOCAL_IMAGE_MODE", "buildah" if HAS_BUILDAH else "venv")
    assert main(["--state", "tests-mode", "up"]) == 1
    said = capsys.readouterr().err
    assert "the emulator that runs was started to build in mode" in said
    assert "Remedy: leave it out, or take the emulator down first" in said
