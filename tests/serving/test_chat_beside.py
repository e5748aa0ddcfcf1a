"""What the benchmark of decisions beside a chat says and writes. No server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import chat_beside
from benchmarks.chat_beside import Found


def test_the_result_is_printed_and_written_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Found(alone=[0.1, 0.1, 0.1], beside=[0.15, 0.15, 0.15], tokens=7, token_seconds=[0.02])
    monkeypatch.setattr(chat_beside, "measure", lambda model, *, rounds: found)
    file = tmp_path / "result.json"
    chat_beside.main(["some/tiny.gguf", "--rounds", "3", "--output", str(file)])
    told = json.loads(file.read_text())
    assert (told["model"], told["rounds"], told["counts"]["chat_tokens"]) == ("tiny.gguf", 3, 7)
    assert told["decision"]["p50"] == pytest.approx(
        {"alone_ms": 100, "beside_ms": 150, "ratio": 1.5, "longer_by_ms": 50}
    )
    assert told["token_p50_ms"] == pytest.approx(20)
    assert "cpu" in told["machine"]
    assert "| p50 | 100.0 | 150.0 | 1.50 | 50.0 |" in capsys.readouterr().out
