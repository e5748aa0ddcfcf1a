"""llama-cpp-python for requantizing is made with tools that a lock pins by hash, and with no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from model_packaging import native_wheel
from tests.packaging.conftest import ROOT

FAKE_PYTHON = """#!/bin/sh
echo "$0 $*" >> "$CALLS"
case "$*" in *"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;; esac
case "$*" in *" $FAILS "*) exit 3 ;; esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an interpreter that does nothing writes what it was asked."""
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FAILS", "none")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(native_wheel, "_installed", lambda: None)
    return tmp_path / "calls"


def test_the_tools_come_from_the_lock_with_hashes_and_pip_fetches_none_by_itself(calls: Path, tmp_path: Path) -> None:
    assert native_wheel.main([str(tmp_path / "native")]) == 0
    made, tools, wheel, installed = calls.read_text().splitlines()
    assert "-m venv" in made
    lock = ROOT / "model_packaging/requirements-build.txt"
    assert f"install --require-hashes --only-binary :all: --requirement {lock}" in tools
    assert "wheel --no-deps --require-hashes --no-build-isolation --no-binary llama-cpp-python" in wheel
    assert wheel.startswith(str(tmp_path / "native/tools/bin/python"))
    assert "--no-index --no-deps" in installed
    source = (tmp_path / "native/source.txt").read_text()
    assert source.startswith("llama-cpp-python==")
    assert "--hash=sha256:" in source
    assert source.count("==") == 1


@pytest.mark.parametrize("fails", ["install", "wheel"])
def test_a_step_that_fails_ends_it(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails: str
) -> None:
    monkeypatch.setenv("FAILS", fails)
    assert native_wheel.main([str(tmp_path / "native")]) == 1
    assert "exit status 3" in capsys.readouterr().err


def test_the_version_that_is_installed_already_is_not_made_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "model_packaging.native_wheel", str(tmp_path / "native")],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "is installed" in done.stdout) == (0, True), done.stderr
    assert not (tmp_path / "native").exists()


def test_both_locks_of_the_tools_are_one_and_every_line_of_it_is_hashed() -> None:
    text = (ROOT / "model_packaging/requirements-build.txt").read_text()
    assert text == (ROOT / "container/requirements-build.txt").read_text()
    pinned = text.replace("\\\n", " ").splitlines()
    assert {line.partition("==")[0] for line in pinned} >= {"cmake", "ninja", "scikit-build-core"}
    assert all("--hash=sha256:" in line for line in pinned)
