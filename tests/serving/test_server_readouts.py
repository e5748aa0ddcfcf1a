"""The whole server on a model folder: its manifest's readout, a calibration beside the weights, readouts by request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server, decision

TEMPERATURES = {"choice": 2.0}


def model_folder(folder: Path, **calibrated: Any) -> Path:
    """A tiny model served by likelihood, with a calibration that fits it unless `calibrated` says otherwise."""
    folder.mkdir()
    gguf = write_tiny_llama(folder / "tiny.gguf", context_length=16384).read_bytes()
    sha256 = hashlib.sha256(gguf).hexdigest()
    fitted = {
        "calibration_version": 1, "version": "v1", "gguf_sha256": sha256, "prompt_version": "likelihood-v1",
        "readout": "likelihood", "temperatures": TEMPERATURES,
    }  # fmt: skip
    content = json.dumps(fitted | calibrated).encode()
    (folder / "calibration.json").write_bytes(content)
    manifest = {
        "manifest_version": 1,
        "name": "tiny",
        "gguf": {"file": "tiny.gguf", "bytes": len(gguf), "sha256": sha256},
        "serving": {"readout": "likelihood", "prompt_version": "likelihood-v1", "n_ctx": 8192},
        "calibration": {
            "file": "calibration.json", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(),
        },
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("readouts")
    settings = {"DECISION_MODEL_PATH": str(model_folder(folder / "model")), "DECISION_N_THREADS": "1"}
    with Server([*SERVE], folder / "log", settings) as started:
        yield started


def result(server: Server, **changes: Any) -> Any:
    reply = server.ask({"decision": decision(**changes)})
    assert reply.status == 200, reply.json
    return reply.json["result"]


def test_the_manifest_s_readout_is_the_default_and_its_answers_are_calibrated(server: Server) -> None:
    answer = result(server)
    assert (answer["readout"], answer["prompt_version"]) == ("likelihood", "likelihood-v1")
    assert answer["calibration"] == {"status": "applied", "version": "v1", "temperature": 2.0}
    assert answer["probability_status"] == "calibrated"
    assert abs(sum(answer["probabilities"]) - 1) < 1e-9


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        ({"readout": "letters"}, ("letters", "direct-options-v1")),
        ({"readout": "letters", "prompt_version": "criterion-first-v1"}, ("letters", "criterion-first-v1")),
        ({"readout": "letters-rotated"}, ("letters-rotated", "direct-options-v1")),
        ({"prompt_version": "likelihood-v1"}, ("likelihood", "likelihood-v1")),
    ],
)
def test_a_request_gets_the_readout_and_prompt_version_it_asks_for_and_is_told_which(
    server: Server, asked: dict[str, str], used: tuple[str, str]
) -> None:
    answer = result(server, **asked)
    assert (answer["readout"], answer["prompt_version"]) == used
    assert ("rotation_spread" in answer) is (used[0] == "letters-rotated")
    assert (answer["calibration"]["status"] == "applied") is (used[0] == "likelihood")


def test_decisions_of_several_readouts_in_one_request_equal_those_asked_alone(server: Server) -> None:
    readouts = ["letters", "likelihood", "letters-rotated", "likelihood"]
    asked = [decision(id=str(n), readout=name, question=f"Q{n // 2}?") for n, name in enumerate(readouts)]
    together = server.ask({"decisions": asked}).json
    for one, item in zip(together["results"], asked, strict=True):
        assert one["option_logits"] == result(server, **item)["option_logits"]
    timing = together["timing"]
    parts = sum(one["timing"]["forward_seconds"] for one in together["results"])
    assert timing["forward_seconds"] == pytest.approx(parts)
    assert 0 < timing["prefill_seconds"] < timing["forward_seconds"]


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"readout": "words"}, "decision.readout", "known here: letters, likelihood, letters-rotated"),
        ({"prompt_version": "direct-options-v1"}, "decision.prompt_version", "with the readout 'likelihood'"),
        ({"readout": "letters", "prompt_version": "v9"}, "decision.prompt_version", "known here: direct-options-v1"),
        ({"readout": None}, "decision.readout", "null"),
    ],
)
def test_a_wish_that_the_server_cannot_fulfil_is_refused_by_name(
    server: Server, asked: dict[str, Any], field: str, words: str
) -> None:
    reply = server.ask({"decision": decision(**asked)})
    assert (reply.status, reply.json["field"]) == (400, field)
    assert words in reply.json["error"]


@pytest.mark.parametrize("readout", ["letters", "likelihood"])
@pytest.mark.parametrize("count", [2, 16, 17, 255])
def test_every_number_of_options_of_the_contract_is_answered_in_their_order(
    server: Server, readout: str, count: int
) -> None:
    options = [{"id": f"o{n}", "description": f"n{n}"} for n in range(count)]
    answer = result(server, options=options, readout=readout)
    assert answer["option_ids"] == [option["id"] for option in options]
    assert len(answer["probabilities"]) == len(answer["answer_token_ids"]) == count
    assert abs(sum(answer["probabilities"]) - 1) < 1e-9


@pytest.mark.parametrize("readout", ["letters", "likelihood"])
def test_one_option_above_the_cap_is_refused_with_the_id_the_count_and_the_cap(server: Server, readout: str) -> None:
    options = [{"id": f"o{n}", "description": f"n{n}"} for n in range(256)]
    reply = server.ask({"decisions": [decision(), decision(id="too wide", options=options, readout=readout)]})
    assert (reply.status, reply.json["field"]) == (400, "decisions[1].options")
    for words in ('"too wide"', "256 given", "2 to 255 allowed"):
        assert words in reply.json["error"]


@pytest.mark.parametrize(
    ("calibrated", "settings", "words"),
    [
        ({"gguf_sha256": "0" * 64}, {}, "calibration: gguf_sha256 is"),
        ({"prompt_version": "direct-options-v1"}, {}, "calibration: prompt_version is 'direct-options-v1'"),
        ({"temperatures": {"choice": 11}}, {}, "calibration: temperatures.choice is '11'"),
        ({}, {"DECISION_READOUT": "letters"}, "calibration: readout is 'likelihood'; 'letters' is the one served"),
        ({}, {"DECISION_PROMPT_VERSION": "criterion-first-v1"}, "prompt_version: 'criterion-first-v1' is not known"),
    ],
)
def test_a_calibration_or_a_setting_that_does_not_fit_ends_the_start_with_one_line(
    tmp_path: Path, calibrated: dict[str, Any], settings: dict[str, str], words: str
) -> None:
    folder = model_folder(tmp_path / "model", **calibrated)
    environ = settings | {"DECISION_MODEL_PATH": str(folder)}
    with Server([*SERVE], tmp_path / "log", environ, wait=False) as server:
        line = server.log_line("load_failed")
        assert words in line["error"]
        assert server.process.wait(30) == 3
    assert server.out == ""


def questions(server: Server) -> Any:
    asked = {
        "noul": {"type": "noul", "instructions": "Is it?"},
        "choice": {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": None, "c": None}},
        "score": {"type": "score", "instructions": "How much?", "criteria": ["little", "some", "much"]},
    }
    reply = server.ask({"model": "tiny", "state": "Some evidence.", "questions": asked}, "/v1/systemone")
    assert reply.status == 200, reply.json
    return reply.json["answers"]


def test_each_type_of_question_has_a_temperature_of_its_own_and_one_without_it_is_not_calibrated(
    tmp_path: Path,
) -> None:
    folder = model_folder(tmp_path / "model", temperatures={"noul": 0.5, "choice": 4.0})
    with Server([*SERVE], tmp_path / "log", {"DECISION_MODEL_PATH": str(folder), "DECISION_N_THREADS": "1"}) as server:
        answers = questions(server)
    assert {name: answer["x_calibration"] for name, answer in answers.items()} == {
        "noul": {"status": "applied", "version": "v1", "temperature": 0.5},
        "choice": {"status": "applied", "version": "v1", "temperature": 4.0},
        "score": {"status": "none", "version": None, "temperature": 1.0},
    }


def test_levels_are_never_rotated_and_their_answers_are_those_of_letters(tmp_path: Path) -> None:
    settings = {"DECISION_MODEL_PATH": str(tmp_path / "tiny.gguf"), "DECISION_N_THREADS": "1"}
    write_tiny_llama(tmp_path / "tiny.gguf")
    with Server([*SERVE], tmp_path / "rotated", settings | {"DECISION_READOUT": "letters-rotated"}) as rotating:
        rotated = questions(rotating)
    with Server([*SERVE], tmp_path / "letters", settings | {"DECISION_READOUT": "letters"}) as listing:
        listed = questions(listing)
    assert rotated["score"] == listed["score"]
    assert [name for name, answer in rotated.items() if "x_rotation_spread" in answer] == ["noul", "choice"]
    assert (rotated["choice"]["x_readout"], rotated["score"]["x_readout"]) == ("letters-rotated", "letters")
