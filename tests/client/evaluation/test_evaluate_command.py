"""`python -m client evaluate` from arguments to reports and exit code, over loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from client import __main__ as program
from client.evaluation import command, journal
from client.evaluation.run import ask_all
from tests.client.evaluation import scripted_server
from tests.client.evaluation.scripted_server import ScriptedServer
from tests.serving.server import Server

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = '<script>alert("1")</script> & "quotes"'


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server.running() as running:
        yield running


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_all, "__kwdefaults__", {**(ask_all.__kwdefaults__ or {}), "pause_seconds": 0.0})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(decision(number)) + "\n" for number in range(30)))
    return path


def decision(number: int) -> dict[str, Any]:
    return {
        "id": f"d{number}",
        "state": HOSTILE if number % 2 else {"text": "Ein Fall, größer als üblich.", "n": number},
        "question": "Which?",
        "options": [{"id": each, "description": f"It is {each}."} for each in "abc"],
        "expected": "abc"[number % 3],
        "family": f"family {number % 4}",
        "group": f"g{number // 2}",
        "language": "de",
    }


def arguments(data: Path, url: str, out: Path, *more: str) -> list[str]:
    return ["evaluate", "--data", str(data), "--url", url, "--out", str(out), *more]


def lasting(folder: Path) -> dict[str, Any]:
    """The report without what is a matter of time."""
    report: dict[str, Any] = json.loads((folder / "report.json").read_bytes())
    del report["run"]
    return report


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        told = dict(attrs)
        self.ids.update([told["id"] or ""] if "id" in told else [])
        self.links += [told[name] or "" for name in ("src", "href", "xlink:href", "action", "data") if name in told]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_a_run_leaves_a_page_that_needs_nothing_but_itself(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(arguments(data, server.url, tmp_path / "out", "--hourly-price", "1.5")) == 0
    written = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    page = Page(written)
    assert not {"script", "link", "img", "iframe", "object"} & page.tags.keys()
    assert page.tags["svg"] == 3
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= page.ids.keys()
    assert max(page.ids.values()) == 1
    assert "url(http" not in written
    assert "@import" not in written
    assert "nan" not in written.lower().split()
    assert any(HOSTILE in text for text in page.text)
    assert any("größer als üblich" in text for text in page.text)
    assert "1.5 an hour / 3600" in written
    line = capsys.readouterr().out
    assert line.startswith("done: 30 of 30 answered, accuracy ")
    assert line.endswith(f"report: {tmp_path / 'out' / 'report.html'}\n")
    assert line.count("\n") == 1


def test_equal_answers_give_equal_reports_but_for_the_run(tmp_path: Path, data: Path, server: ScriptedServer) -> None:
    for name in ("one", "two"):
        assert program.main(arguments(data, server.url, tmp_path / name, "--concurrency", "3")) == 0
    assert lasting(tmp_path / "one") == lasting(tmp_path / "two")
    first, second = ((tmp_path / name / "report.json").read_bytes() for name in ("one", "two"))
    assert first[: first.index(b'"run"')] == second[: second.index(b'"run"')]


def test_a_killed_evaluation_goes_on_to_the_result_of_one_that_was_not(
    tmp_path: Path, data: Path, server: ScriptedServer
) -> None:
    asked = arguments(data, server.url, tmp_path / "cut", "--concurrency", "2")
    started = threading.Event()
    process: subprocess.Popen[bytes]

    def kill(number: int) -> None:
        if number == 12:
            started.wait(60)
            process.kill()
            process.wait(60)

    server.before = kill
    process = subprocess.Popen([sys.executable, "-m", "client", *asked], cwd=ROOT, stderr=subprocess.DEVNULL)
    started.set()
    assert process.wait(120) == -signal.SIGKILL
    kept = len(journal.read(tmp_path / "cut")[1])
    assert 9 <= kept <= 11
    server.before = lambda number: None
    server.ids.clear()
    assert program.main(asked) == 0
    assert len(server.ids) == 60 - kept
    assert program.main(arguments(data, server.url, tmp_path / "whole", "--concurrency", "2")) == 0
    assert lasting(tmp_path / "cut") == lasting(tmp_path / "whole")


def test_an_interrupted_evaluation_says_how_to_go_on(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.before = lambda number: os.kill(os.getpid(), signal.SIGINT) if number == 20 else None
    asked = arguments(data, server.url, tmp_path / "out")
    assert program.main(asked) == 130
    told = capsys.readouterr()
    assert "interrupted; what was answered is in" in told.err
    assert told.out == ""
    assert not (tmp_path / "out" / "report.json").exists()
    assert program.main(asked) == 0
    assert len(server.ids) in (60, 61)


@pytest.mark.usefixtures("no_pauses")
def test_a_busy_server_is_waited_for(tmp_path: Path, data: Path, server: ScriptedServer) -> None:
    busy = {"error": "no place", "code": "queue_full", "field": None, "retryable": True, "request_id": "r"}
    server.before = lambda number: (503, busy) if number <= 3 else None
    assert program.main(arguments(data, server.url, tmp_path / "out", "--deadline", "1", "--no-reversed")) == 0
    assert lasting(tmp_path / "out")["summary"]["whole"]["validity"]["count"] == 30


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        (["--min-accuracy", "0.01", "--max-ece", "0.99", "--max-p95", "1000"], 0, "passed: "),
        (["--min-answered", "1"], 0, "passed: "),
        (["--min-accuracy", "0.99"], 1, "failed (--min-accuracy 0.99: 0."),
        (["--min-accuracy", "1"], 1, "failed (--min-accuracy 1: 0."),
        (["--max-ece", "0.0001"], 1, "failed (--max-ece 0.0001: 0."),
        (["--max-p95", "0.000001"], 1, "failed (--max-p95 1e-06: "),
        (["--min-accuracy", "0.99", "--max-ece", "0.0001"], 1, "; --max-ece 0.0001"),
    ],
)
def test_limits_decide_on_the_exit_code_and_the_line_names_those_not_kept(
    evaluated: tuple[Path, Path, str], capsys: pytest.CaptureFixture[str], limits: list[str], code: int, said: str
) -> None:
    data, out, url = evaluated
    assert program.main(arguments(data, url, out, *limits)) == code
    assert said in capsys.readouterr().out


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A whole run, after which nobody has to be asked."""
    folder = tmp_path_factory.mktemp("evaluated")
    data = folder / "set.jsonl"
    data.write_text("".join(json.dumps(decision(number)) + "\n" for number in range(30)))
    with scripted_server.running() as running:
        assert program.main(arguments(data, running.url, folder / "out")) == 0
        return data, folder / "out", running.url


def test_thresholds_of_each_risk_are_told_and_reported(
    evaluated: tuple[Path, Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    data, out, url = evaluated
    assert program.main(arguments(data, url, out, "--risk", "0.05", "0.9")) == 0
    cuts = lasting(out)["thresholds"]
    assert [(each["risk"], each["scope"]) for each in cuts] == [(0.05, "all"), (0.9, "all")]
    told = capsys.readouterr().err
    assert f"abstain_below {cuts[1]['likely']['abstain_below']!r} automates 100.0 %" in told
    assert "at most 5.0 % errors, all questions, assured: no cut does" in told


def test_a_folder_of_another_set_is_refused_and_nothing_is_asked(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(arguments(data, server.url, tmp_path / "out")) == 0
    data.write_text(json.dumps(decision(0)) + "\n")
    server.ids.clear()
    assert program.main(arguments(data, server.url, tmp_path / "out")) == 2
    assert "data_sha256: " in capsys.readouterr().err
    assert server.ids == []


def test_a_run_in_which_nothing_was_answered_has_failed(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = {"error": "no such readout", "code": "unknown_readout", "field": "decision.readout", "retryable": False}
    server.before = lambda number: (400, refusal)
    assert program.main(arguments(data, server.url, tmp_path / "out", "--readout", "tea-leaves")) == 3
    assert "none of 30 decisions was answered: unknown_readout: no such readout" in capsys.readouterr().err
    assert "unknown_readout" in (tmp_path / "out" / "report.html").read_text()


BROKEN = {"error": "it broke", "code": "internal", "field": None, "retryable": False, "request_id": "r"}
TOO_LONG = {"error": "9 tokens", "code": "too_long", "field": "decision.state", "retryable": False, "request_id": "r"}


@pytest.mark.usefixtures("no_pauses")
def test_a_limit_is_not_kept_where_a_server_broke_and_the_same_command_asks_that_again(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.before = lambda number: (500, BROKEN) if server.ids[-1] in ("d3", "d20") else None
    asked = arguments(data, server.url, tmp_path / "out", "--no-reversed", "--min-accuracy", "0.01")
    assert program.main(asked) == 1
    told = capsys.readouterr()
    assert told.out.startswith("failed (--min-answered 1: 0.9333): 28 of 30 answered")
    assert "2 not answered: internal (2)\n" in told.err
    assert "2 may be answered later, and are asked by the same command again" in told.err
    assert [each["error"] for each in lasting(tmp_path / "out")["unanswered"]] == ["internal: it broke"] * 2
    server.before = lambda number: None
    server.ids.clear()
    assert program.main(asked) == 0
    assert server.ids == ["d3", "d20"]
    assert capsys.readouterr().out.startswith("passed: 30 of 30 answered")
    assert lasting(tmp_path / "out")["unanswered"] == []


def test_a_decision_that_is_refused_is_a_result_that_a_limit_may_allow(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.before = lambda number: (413, TOO_LONG) if server.ids[-1] == "d3" else None
    asked = arguments(data, server.url, tmp_path / "out", "--no-reversed", "--min-accuracy", "0.01")
    assert program.main(asked) == 1
    told = capsys.readouterr().err
    assert "1 not answered: too_long (1)" in told
    assert "asked by the same command again" not in told
    server.ids.clear()
    assert program.main([*asked, "--min-answered", "0.9"]) == 0
    assert server.ids == []


@pytest.mark.usefixtures("no_pauses")
def test_a_server_that_only_breaks_ends_the_run(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.before = lambda number: (500, BROKEN)
    assert program.main(arguments(data, server.url, tmp_path / "out")) == 3
    assert "5 decisions in a row were not answered; the last: internal: it broke" in capsys.readouterr().err
    assert len(server.ids) == 15


@pytest.mark.parametrize("place", ["file", "/proc/evaluation"])
@pytest.mark.parametrize("name", ["evaluate", "readouts", "compare", "calibrate"])
def test_a_folder_that_cannot_be_written_is_refused_by_every_command(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str], name: str, place: str
) -> None:
    (tmp_path / "file").write_text("")
    whom = [f"a=url:{server.url}", f"b=url:{server.url}"] if name == "compare" else ["--url", server.url]
    assert program.main([name, "--data", str(data), "--out", str(tmp_path / place), *whom]) == 2
    assert "with a folder that can be written" in capsys.readouterr().err.replace("name a folder", "with a folder")
    assert server.ids == []


def test_a_report_that_cannot_be_written_is_no_limit_that_was_not_kept(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    assert program.main(arguments(data, server.url, tmp_path / "out", "--no-reversed")) == 3
    assert "report.html: cannot be written: Is a directory\nWhat was answered is kept" in capsys.readouterr().err


def test_a_fault_of_the_program_is_no_limit_that_was_not_kept(
    evaluated: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out, url = evaluated
    monkeypatch.setattr("client.evaluation.report.render", lambda **given: 1 / 0)
    assert program.main(arguments(data, url, out)) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_sigterm_ends_an_evaluation_as_ctrl_c_does(
    tmp_path: Path, data: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    server.before = lambda number: os.kill(os.getpid(), signal.SIGTERM) if number == 20 else None
    assert program.main(arguments(data, server.url, tmp_path / "out")) == 130
    assert "To go on: the same command again" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_report_says_that_another_number_was_asked_at_once_than_before(
    tmp_path: Path, data: Path, server: ScriptedServer
) -> None:
    server.before = lambda number: os.kill(os.getpid(), signal.SIGINT) if number == 20 else None
    asked = arguments(data, server.url, tmp_path / "out", "--no-reversed")
    assert program.main(asked) == 130
    assert program.main([*asked, "--concurrency", "4"]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert report["run"]["timing"]["concurrencies"] == [1, 4]
    assert "1, then 4" in (tmp_path / "out" / "report.html").read_text()


def test_nobody_at_the_address_is_told_at_once(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_server.running() as gone:
        url = gone.url
    assert program.main(arguments(data, url, tmp_path / "out")) == 3
    assert "To go on: the same command again" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["--risk", "1.5"], ["--concurrency", "0"], ["--hourly-price", "-1"], ["--min-accuracy", "x"]]
)
def test_a_number_that_cannot_be_is_refused(data: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(arguments(data, "http://127.0.0.1:1", data.parent / "out", *wrong))
    assert wrong[0] in capsys.readouterr().err


def test_a_real_server_answers_every_type_of_question(tmp_path: Path, tiny_server: Server) -> None:
    questions = {
        "refund": {"type": "noul", "instructions": "Refund?"},
        "team": {"type": "choice", "instructions": "Which?", "criteria": {"z": None, "a": "First"}},
        "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "angry", "furious"]},
    }
    told = {"id": "r", "state": "s", "questions": questions, "expected": {"refund": "no", "team": "a", "anger": 2}}
    data = tmp_path / "set.jsonl"
    data.write_text(json.dumps(told) + "\n" + json.dumps(decision(0)) + "\n")
    assert program.main(arguments(data, f"http://127.0.0.1:{tiny_server.port}", tmp_path / "out")) == 0
    report = lasting(tmp_path / "out")
    assert report["summary"]["whole"]["validity"]["count"] == 4
    assert {each["question_type"]: each["answers"] for each in report["setups"]} == {"noul": 1, "choice": 2, "score": 1}
    assert report["summary"]["flips"]["flipped"]["total"] == 2
    assert report["summary"]["ordinal"]["count"] == 1


def test_callers_of_an_endpoint_need_none_of_the_packages(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "import sys, client.evaluation.command; print([n for n in ('numpy', 'scipy', 'jinja2') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True).stdout == b"[]\n"
    monkeypatch.delattr("client.evaluation.evaluate", raising=False)
    monkeypatch.setitem(sys.modules, "client.evaluation.evaluate", None)
    assert program.main(arguments(data, "http://127.0.0.1:1", tmp_path / "out")) == 2
    assert "pip install --require-hashes -r client/requirements-evaluation.txt" in capsys.readouterr().err
    assert command.MAX_CONCURRENCY == 32
