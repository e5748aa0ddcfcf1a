"""`python -m client compare` on real servers of tiny models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client import __main__ as program
from client.evaluation import journal
from tests.client.calibration.packed import lines, write_lines
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server

COUNT = 5  # of each type


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {name: write_tiny_llama(folder / f"{name}.gguf", seed=seed) for name, seed in (("one", 1), ("two", 2))}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("data") / "decisions.jsonl", lines(COUNT))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, models: dict[str, Path], data: Path) -> Path:
    """Two models, and one of them by another readout."""
    out = tmp_path_factory.mktemp("compared") / "out"
    assert compare(data, out, *_contestants(models), "--hourly-price", "0.4") == 0
    return out


def _contestants(models: dict[str, Path]) -> tuple[str, ...]:
    return (
        f"one={models['one']}",
        f"two={models['two']},price=1.6,DECISION_N_THREADS=1",
        f"likelihood={models['one']},readout=likelihood",
    )


def compare(data: Path, out: Path, *more: str) -> int:
    return program.main(["compare", "--data", str(data), "--out", str(out), *more])


def report(out: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((out / "compare.json").read_bytes())
    return told


def rows(out: Path) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in report(out)["contestants"]}


def right(out: Path, name: str, data: Path) -> dict[str, bool]:
    """Of the journal alone, apart from what is tested."""
    expected = {line["id"]: str(line["expected"]) for line in map(json.loads, data.read_text().splitlines())}
    _, outcomes = journal.read(out / name)
    return {
        each.item_id: each.answer.option_ids[each.answer.probabilities.index(max(each.answer.probabilities))]
        == expected[each.item_id]
        for each in outcomes
        if each.answer is not None
    }


def test_accuracies_differences_and_flips_are_those_of_the_journals(compared: Path, data: Path) -> None:
    found = rows(compared)
    judged = {name: right(compared, name, data) for name in found}
    for name, row in found.items():
        assert row["summary"]["whole"]["accuracy"]["count"] == sum(judged[name].values())
        assert row["summary"]["whole"]["accuracy"]["total"] == len(judged[name]) == 3 * COUNT + 3
    assert found["one"]["against_baseline"] is None
    for name in ("two", "likelihood"):
        against = found[name]["against_baseline"]
        gained = [each for each in judged[name] if judged[name][each] and not judged["one"][each]]
        lost = [each for each in judged[name] if judged["one"][each] and not judged[name][each]]
        assert [each["id"] for each in against["gained"]] == gained
        assert [each["id"] for each in against["lost"]] == lost
        difference = (len(gained) - len(lost)) / len(judged[name])
        assert against["accuracy_difference"]["value"] == pytest.approx(difference)
        assert against["accuracy_difference"]["low"] <= difference <= against["accuracy_difference"]["high"]


def test_each_local_model_is_served_by_its_own_settings_weights_and_readout(
    compared: Path, models: dict[str, Path]
) -> None:
    found = rows(compared)
    assert found["one"]["readouts"] == ["letters"]
    assert found["likelihood"]["readouts"] == ["likelihood"]
    assert found["two"]["facts"]["n_threads"] == 1
    assert found["one"]["facts"]["gguf_sha256"] == found["likelihood"]["facts"]["gguf_sha256"]
    assert found["one"]["facts"]["gguf_sha256"] != found["two"]["facts"]["gguf_sha256"]
    assert found["one"]["facts"]["gguf_bytes"] == models["one"].stat().st_size


def test_memory_rates_and_cost_stand_beside_the_quality(compared: Path) -> None:
    found = rows(compared)
    for name, hourly in (("one", 0.4), ("two", 1.6), ("likelihood", 0.4)):
        run = found[name]["run"]
        assert run["peak_bytes"] > 10_000_000
        assert run["timing"]["cost_per_1000"] == pytest.approx(
            hourly / 3600 * run["timing"]["busy_seconds"] / run["timing"]["decisions"] * 1000
        )
        assert run["decisions_per_second"] == pytest.approx(run["timing"]["decisions"] / run["timing"]["busy_seconds"])
        assert run["tokens_per_second"] > 0


def test_the_page_says_it_all_and_fetches_nothing(compared: Path) -> None:
    page = (compared / "compare.html").read_text()
    assert "two against one" in page
    assert "carry the loss of both steps" in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", "")
    assert page.count("<svg") == 2


def test_the_same_command_again_starts_no_server_and_writes_the_same(
    compared: Path, models: dict[str, Path], data: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def nobody(*arguments: object, **more: object) -> object:
        raise AssertionError("a server was started")

    monkeypatch.setattr("client.transport.targets.LocalServer", nobody)
    before = {name: (compared / name).read_bytes() for name in ("compare.json", "compare.html")}
    assert compare(data, compared, *_contestants(models), "--hourly-price", "0.4") == 0
    assert {name: (compared / name).read_bytes() for name in before} == before
    assert "likelihood" in capsys.readouterr().out


def test_an_interrupted_comparison_goes_on_to_the_same_verdict(
    compared: Path, models: dict[str, Path], data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (out / "one").mkdir(parents=True)
    whole = (compared / "one" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "one" / "journal.jsonl").write_bytes(b"".join(whole[:6]) + whole[6][:40])
    assert compare(data, out, *_contestants(models)) == 0
    assert (out / "one" / "journal.jsonl").read_bytes().startswith(b"".join(whole[:6]))
    for name, row in rows(compared).items():
        again = rows(out)[name]
        assert again["against_baseline"] == row["against_baseline"]
        assert again["summary"] == row["summary"]
    assert rows(out)["one"]["run"]["timing"]["sessions"] == 2


def test_another_contestant_of_a_name_that_was_asked_is_refused(
    compared: Path, models: dict[str, Path], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (compared / "compare.json").read_bytes()
    assert compare(data, compared, f"one={models['two']}", f"two={models['two']}") == 2
    assert "holds a run with other settings" in capsys.readouterr().err
    assert (compared / "compare.json").read_bytes() == before


def test_other_weights_in_a_file_of_the_same_name_are_refused(
    compared: Path, models: dict[str, Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / models["one"].name
    other.write_bytes(models["two"].read_bytes())
    assert compare(data, compared, f"one={other}", f"two={models['two']},price=1.6,DECISION_N_THREADS=1") == 2
    assert "target_sha256" in capsys.readouterr().err


def test_another_baseline_turns_the_differences_round(
    compared: Path, models: dict[str, Path], data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for name in ("one", "two", "likelihood"):
        (out / name).mkdir(parents=True)
        for file in (compared / name).iterdir():
            (out / name / file.name).write_bytes(file.read_bytes())
    assert compare(data, out, *_contestants(models), "--baseline", "two") == 0
    before, after = rows(compared)["two"]["against_baseline"], rows(out)["one"]["against_baseline"]
    assert after["accuracy_difference"]["value"] == -before["accuracy_difference"]["value"]
    assert [each["id"] for each in after["gained"]] == [each["id"] for each in before["lost"]]


def test_a_model_that_is_not_there_is_told_before_anybody_is_asked(
    models: dict[str, Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert compare(data, out, f"one={models['one']}", f"gone={tmp_path / 'gone.gguf'}") == 2
    assert "gone.gguf: no such file" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--baseline", "three"), "they are one, two"),
        (("--hourly-price", "free"), "'free'"),
        (("--api-key-env", "KEY"), "url:"),
    ],
)
def test_what_is_written_wrongly_is_refused_by_name(
    more: tuple[str, ...], named: str, models: dict[str, Path], data: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    pair = (f"one={models['one']}", f"two={models['two']}")
    assert compare(data, tmp_path / "out", *pair, *more) == 2
    assert named in capsys.readouterr().err


@pytest.fixture
def server(models: dict[str, Path], tmp_path: Path) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(models["one"]), "DECISION_API_KEY": "a-key-of-the-tests-own"}
    with Server(SERVE, tmp_path / "server", settings) as running:
        yield running


def test_a_server_at_an_address_competes_with_a_file(
    server: Server, compared: Path, models: dict[str, Path], data: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("COMPARED_KEY", "a-key-of-the-tests-own")
    out, url = tmp_path / "out", f"http://127.0.0.1:{server.port}"
    (out / "one").mkdir(parents=True)
    for file in (compared / "one").iterdir():
        (out / "one" / file.name).write_bytes(file.read_bytes())
    assert compare(data, out, f"one={models['one']}", f"served=url:{url}", "--api-key-env", "COMPARED_KEY") == 0
    served = rows(out)["served"]
    assert served["against_baseline"]["changed_answers"] == 0
    assert served["facts"]["gguf_sha256"] == rows(out)["one"]["facts"]["gguf_sha256"]
    assert served["run"]["peak_bytes"] is None
    assert "a-key-of" not in "".join(path.read_text() for path in out.rglob("*") if path.is_file())


def test_a_server_that_is_not_there_ends_the_comparison_and_keeps_what_was_answered(
    compared: Path, models: dict[str, Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / "one").mkdir(parents=True)
    for file in (compared / "one").iterdir():
        (out / "one" / file.name).write_bytes(file.read_bytes())
    pair = (f"one={models['one']}", "away=url:http://127.0.0.1:9")
    assert compare(data, out, *pair, "--deadline", "1") == 3
    assert "the same command" in capsys.readouterr().err
    assert not (out / "compare.json").exists()
