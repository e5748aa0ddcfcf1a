"""`python -m client calibrate` against real servers of a tiny model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from client import __main__ as program
from client.calibration.scores import probabilities_of
from client.decisions import Answer, Choice, Decision, DecisionClient, Noul
from client.evaluation import journal
from client.evaluation.items import read
from client.evaluation.outcomes import Given
from model_packaging.verify import verify
from tests.client.calibration.packed import lines, pack, unpack, write_lines

COUNT = 20


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """A run that was made once: its folder, the file of decisions, and the archive that it was made with."""

    out: Path
    data: Path
    archive: Path

    @property
    def artefact(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.out / "calibration.json").read_bytes())
        return told

    @property
    def report(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.out / "calibration-report.json").read_bytes())
        return told

    def answers(self) -> Mapping[str, Given]:
        _, outcomes = journal.read(self.out)
        return {each.item_id: each.answer for each in outcomes if each.answer is not None}


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    folder = tmp_path_factory.mktemp("calibrated")
    archive = pack(folder / "model")
    data = write_lines(folder / "decisions.jsonl", _partly_right(lines(COUNT), folder / "model" / "tiny.gguf"))
    out = folder / "calibration"
    assert calibrate(data, out, "--archive", archive) == 0
    return Calibrated(out=out, data=data, archive=archive)


def _partly_right(told: list[dict[str, Any]], model: Path) -> list[dict[str, Any]]:
    """Labels that the model gets right in every second group, and by chance elsewhere: it is surer than right."""
    path = write_lines(model.parent / "unlabelled.jsonl", told)
    with DecisionClient.local(model) as client:
        tops = {item.id: _ask(client, item).top for item in read(path)}
    return [
        line if index // 6 % 2 or line["id"].startswith("score") else line | {"expected": tops[line["id"]]}
        for index, line in enumerate(told)
    ]


def calibrate(data: Path, out: Path, *more: str | Path) -> int:
    return program.main(["calibrate", "--data", str(data), "--out", str(out), *map(str, more)])


def test_the_server_starts_with_the_artefact_and_divides_every_score_by_its_temperature(
    calibrated: Calibrated, tmp_path: Path
) -> None:
    before, kept = calibrated.answers(), calibrated.artefact["temperatures"]
    assert 1.0 < kept["choice"] < 10.0
    items = [each for each in read(calibrated.data) if each.question_type in kept]
    with DecisionClient.local(unpack(calibrated.out / "model.tar.gz", tmp_path / "model")) as client:
        for item in items:
            after = _ask(client, item)
            was = before[item.id]
            assert was.temperature == 1.0
            assert after.temperature == kept[item.question_type]
            assert after.calibration_version == calibrated.artefact["version"]
            if was.option_logits is not None:
                local = probabilities_of(was.option_logits, after.temperature)
                assert after.probabilities == local
                continue
            local = probabilities_of([math.log(each) for each in was.probabilities], after.temperature)
            assert after.probabilities == pytest.approx(local, abs=1e-12)


def _ask(client: DecisionClient, item: Any) -> Answer:
    if isinstance(item.question, Decision):
        return client.decide(item.question)
    return client.ask(item.state, {"q": item.question})["q"]


def test_the_new_archive_holds_the_artefact_and_is_whole(calibrated: Calibrated) -> None:
    old, new = verify(calibrated.archive), verify(calibrated.out / "model.tar.gz")
    assert new.manifest.calibration is not None
    assert new.manifest.calibration.bytes == (calibrated.out / "calibration.json").stat().st_size
    assert old.manifest.calibration is None
    assert new.manifest.gguf == old.manifest.gguf
    assert calibrated.artefact["gguf_sha256"] == old.manifest.gguf.sha256


def test_types_with_too_few_decisions_are_left_alone_and_the_report_says_so(calibrated: Calibrated) -> None:
    types = calibrated.report["types"]
    assert types["score"]["status"] == "not fitted"
    assert "3 answered decisions in 3 groups" in types["score"]["why"]
    assert "score" not in calibrated.artefact["temperatures"]
    assert types["choice"]["decisions"] == 2 * COUNT
    assert types["noul"]["groups"] == COUNT // 2


def test_what_is_kept_is_what_improves_unseen_decisions(calibrated: Calibrated) -> None:
    for name, told in calibrated.report["types"].items():
        if told["status"] == "not fitted":
            continue
        better = told["before"]["negative_log_likelihood"] - told["after"]["negative_log_likelihood"]
        assert told["improvement"]["value"] == pytest.approx(better, abs=1e-12)
        assert (told["status"] == "kept") == (better > 0)
        assert (name in calibrated.artefact["temperatures"]) == (better > 0)


def test_the_same_answers_give_the_same_bytes_and_the_page_needs_nothing_else(
    calibrated: Calibrated, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    again = ("--evaluation", calibrated.out, "--archive", calibrated.archive)
    assert calibrate(calibrated.data, out, *again) == 0
    for name in ("calibration.json", "calibration-report.json", "model.tar.gz", "calibration.html"):
        assert (out / name).read_bytes() == (calibrated.out / name).read_bytes(), name
    assert not (out / "journal.jsonl").exists()
    page = (out / "calibration.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", "")


def test_a_calibrated_server_gives_the_same_fit_since_its_temperature_is_undone(
    calibrated: Calibrated, tmp_path: Path
) -> None:
    out, folder = tmp_path / "out", unpack(calibrated.out / "model.tar.gz", tmp_path / "model")
    assert calibrate(calibrated.data, out, "--model", folder) == 0
    found = json.loads((out / "calibration-report.json").read_bytes())
    assert max(found["served_at_temperatures"]) > 1.0
    for name, told in calibrated.report["types"].items():
        if told["status"] != "not fitted":
            assert found["types"][name]["temperature"] == pytest.approx(told["temperature"], abs=2e-4)
            assert found["types"][name]["before"]["negative_log_likelihood"] == pytest.approx(
                told["before"]["negative_log_likelihood"], abs=1e-9
            )


def test_an_archive_that_could_not_take_the_calibration_is_refused_before_anything_is_asked(
    calibrated: Calibrated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert calibrate(calibrated.data, out, "--archive", calibrated.archive, "--readout", "likelihood") == 2
    assert "readout: letters packed, likelihood asked" in capsys.readouterr().err
    assert list(out.iterdir()) == []


def test_too_few_decisions_of_every_type_are_refused_with_how_many_are_needed(
    calibrated: Calibrated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = write_lines(tmp_path / "few.jsonl", lines(4))
    out = tmp_path / "out"
    assert calibrate(few, out, "--archive", calibrated.archive) == 2
    told = capsys.readouterr().err
    assert "noul: 4 answered decisions in 2 groups of paraphrases; 20 in 10 are needed" in told
    assert not (out / "calibration.json").exists()


def test_an_evaluation_of_other_decisions_or_another_model_is_refused(
    calibrated: Calibrated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_lines(tmp_path / "other.jsonl", lines(COUNT, seed=9))
    run = ("--evaluation", calibrated.out)
    assert calibrate(other, tmp_path / "a", "--archive", calibrated.archive, *run) == 2
    assert "give the file that the evaluation was made with" in capsys.readouterr().err
    bare = calibrated.archive.parent.parent / "tiny.gguf"
    renamed = tmp_path / "renamed.gguf"
    renamed.write_bytes(bare.read_bytes())
    assert calibrate(calibrated.data, tmp_path / "b", "--model", renamed, *run) == 2
    assert "answered by tiny; the model asked now is renamed" in capsys.readouterr().err


def test_an_evaluation_by_weights_of_the_same_name_is_refused_and_one_that_does_not_say_them_is_told(
    calibrated: Calibrated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, weights in (("other", "0" * 64), ("silent", None)):
        lines_ = (calibrated.out / journal.NAME).read_text().splitlines()
        told = [json.loads(line) for line in lines_]
        for each in told[1:]:
            each["answer"]["gguf_sha256"] = weights
        (tmp_path / name).mkdir()
        write_lines(tmp_path / name / journal.NAME, told)
    asked = ("--archive", calibrated.archive, "--evaluation")
    assert calibrate(calibrated.data, tmp_path / "a", *asked, tmp_path / "other") == 2
    assert "answered by weights of sha256 000000000000…" in capsys.readouterr().err
    assert calibrate(calibrated.data, tmp_path / "b", *asked, tmp_path / "silent") == 0
    assert "only the model's name, tiny, was compared" in capsys.readouterr().err


def test_another_readout_than_the_evaluation_s_is_refused_before_anything_is_started(
    calibrated: Calibrated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--url", "http://127.0.0.1:9", "--evaluation", calibrated.out, "--readout", "likelihood")
    assert calibrate(calibrated.data, tmp_path / "out", *asked) == 2
    assert "--readout likelihood: --evaluation" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_archive_in_the_way_is_not_written_over(calibrated: Calibrated, capsys: pytest.CaptureFixture[str]) -> None:
    before = (calibrated.out / "calibration.json").read_bytes()
    assert calibrate(calibrated.data, calibrated.out, "--archive", calibrated.archive) == 2
    assert "is there already" in capsys.readouterr().err
    assert (calibrated.out / "calibration.json").read_bytes() == before


def test_nobody_to_ask_is_refused(calibrated: Calibrated, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate(calibrated.data, tmp_path / "out") == 2
    assert "--archive, --model, --url, --endpoint-name" in capsys.readouterr().err


def test_choices_and_nouls_are_asked_as_system_one_and_decisions_as_decisions(calibrated: Calibrated) -> None:
    answers = calibrated.answers()
    kinds = {each.id: type(each.question) for each in read(calibrated.data)}
    assert {kinds[name] for name, given in answers.items() if given.option_logits is not None} == {Decision}
    assert {Choice, Noul} <= {kinds[name] for name, given in answers.items() if given.option_logits is None}
