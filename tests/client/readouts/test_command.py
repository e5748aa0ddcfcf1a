"""`python -m client readouts` on a real server with a tiny model: its files, and that it goes on where it ended."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from client import __main__ as program

SET = Path(__file__).resolve().parents[3] / "evaluation_sets" / "everyday.jsonl"


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve short ones of the set, of each type of question."""
    lines = SET.read_text(encoding="utf-8").splitlines()
    short = sorted((line for line in lines if '"language": "en"' in line), key=len)
    chosen = [line for kind in ("choice", "noul", "score") for line in [one for one in short if f'"{kind}"' in one][:4]]
    path = tmp_path_factory.mktemp("set") / "some.jsonl"
    path.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return path


def readouts(model: Path, data: Path, out: Path) -> int:
    flags = ["--readout", "letters", "likelihood", "--setting", "N_THREADS=1"]
    return program.main(["readouts", "--data", str(data), "--model", str(model), "--out", str(out), *flags])


def test_every_readout_gets_a_report_and_a_second_run_asks_nothing_anew(
    tiny_model: Path, some: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert readouts(tiny_model, some, tmp_path) == 0
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()[:4]] == ["readout", "letters", "likelihood", "guessing"]
    assert "likelihood against letters" in told.out
    assert "a server is started" in told.err
    results = json.loads((tmp_path / "readouts.json").read_text(encoding="utf-8"))
    assert [(row["readout"], row["whole"]["validity"]["count"]) for row in results["rows"]] == [
        ("letters", 12),
        ("likelihood", 12),
    ]
    for name in ("letters", "likelihood"):
        assert (tmp_path / name / "report.html").is_file()
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="([^"]+)"', page) == ["letters/report.html", "likelihood/report.html"]
    assert "<svg" in page
    assert "<script" not in page
    assert readouts(tiny_model, some, tmp_path) == 0
    again = capsys.readouterr()
    assert again.out == told.out
    assert "a server is started" not in again.err
    assert json.loads((tmp_path / "readouts.json").read_text(encoding="utf-8")) == results


def test_a_readout_that_does_not_exist_is_refused_before_anything_is_asked(
    tiny_model: Path, some: Path, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as refused:
        program.main(["readouts", "--data", str(some), "--model", str(tiny_model), "--out", str(tmp_path / "o"),
                      "--readout", "words"])  # fmt: skip
    assert refused.value.code == 2
    assert not (tmp_path / "o").exists()
