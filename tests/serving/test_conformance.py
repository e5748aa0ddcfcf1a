"""`jevcompat test` against a real server, a tiny model: all of MUST and SHOULD, by both readouts (contract 4.5)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server

KEY = "a-key-of-24-characters-x"
# Exactly one of each pair applies: a server asks for a key or it does not.
WITHOUT_A_KEY = {"auth.bearer", "auth.missing", "auth.invalid"}
WITH_A_KEY = {"auth.ignored-when-off"}


def results(folder: Path, readout: str, key: str | None) -> tuple[dict[str, str], Any]:
    """Of each requirement: pass, fail or skip. And the whole report."""
    settings = {
        "DECISION_MODEL_PATH": str(write_tiny_llama(folder / "tiny.gguf", context_length=32768)),
        "DECISION_READOUT": readout,
        "DECISION_N_CTX": "24576",  # a byte is a token here: 255 options are 20,000
        "DECISION_N_THREADS": "1",
        **({} if key is None else {"DECISION_API_KEY": key}),
    }
    path = folder / "report.json"
    with Server([*SERVE], folder / "log", settings) as server:
        command = [
            sys.executable,
            "-m",
            "jevcompat.cli",
            "test",
            f"http://127.0.0.1:{server.port}",
            "--json",
            str(path),
        ]
        done = subprocess.run([*command, *([] if key is None else ["--key", key])], capture_output=True, text=True)
    report = json.loads(path.read_text()) if path.exists() else None
    assert report is not None, done.stdout + done.stderr
    return {one["id"]: one["status"] for one in report["results"]}, report


@pytest.mark.parametrize(
    ("readout", "key", "not_applying"),
    [("letters", None, WITHOUT_A_KEY), ("likelihood", None, WITHOUT_A_KEY), ("letters", KEY, WITH_A_KEY)],
)
def test_every_must_and_every_should_passes(
    tmp_path: Path, readout: str, key: str | None, not_applying: set[str]
) -> None:
    found, report = results(tmp_path, readout, key)
    assert len(found) == 48
    assert {name for name, status in found.items() if status != "pass"} == not_applying
    assert {name for name, status in found.items() if status == "fail"} == set()
    assert report["info"]["limits"] == {"choice options accepted up to": 255, "score levels accepted up to": 10}
