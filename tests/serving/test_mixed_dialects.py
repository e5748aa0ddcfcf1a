"""Every dialect at once: what one caller is told does not depend on who else asks, nor in which dialect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import mixed
from benchmarks.mixed import compare
from benchmarks.mixed_requests import Asked, told
from tests.fixtures.tiny_gguf import write_tiny_llama


def test_requests_of_all_dialects_at_once_get_the_bits_of_each_alone(tmp_path: Path) -> None:
    """Of the 500 that `python -m benchmarks.mixed` compares, as many as take half a minute on a busy machine."""
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    report = compare(model, tmp_path, count=175, seed=1, settings={"DECISION_N_THREADS": "1"})
    assert min(report["kinds"].values()) >= 25
    assert (report["not_answered"], report["different"]) == ([], [])


def test_the_report_is_written_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = {"requests": 5, "different": [3], "not_answered": []}
    monkeypatch.setattr(mixed, "compare", lambda *_, **__: report)
    file = tmp_path / "mixed.json"
    assert mixed.main(["--model", "some/tiny.gguf", "--output", str(file)]) == 1
    told = json.loads(file.read_text())
    assert (told["requests"], told["different"], told["model"]) == (5, [3], "tiny.gguf")
    assert told == json.loads(capsys.readouterr().out)


def test_one_bit_of_a_probability_is_a_difference_and_the_time_is_none() -> None:
    asked = Asked(kind="decision", route="/v1/decisions", body=b"")

    def body(probability: float, seconds: float, id_: str = "d") -> bytes:
        result = {"id": id_, "probabilities": [probability], "timing": {"total_seconds": seconds}}
        return json.dumps({"result": result}).encode()

    assert told(asked, body(0.1, 1.0)) == told(asked, body(0.1, 2.0))
    assert told(asked, body(0.1, 1.0)) != told(asked, body(0.10000000000000002, 1.0))
    assert told(asked, body(0.1, 1.0)) != told(asked, body(0.1, 1.0, "e"))
