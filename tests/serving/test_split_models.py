"""A model in several files is verified whole, loaded whole, and answers as the same model in one file does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decision_server.model_errors import StartupFailure
from decision_server.model_files import find
from tests.fixtures.split_gguf import part_names, split_gguf
from tests.serving.server import SERVE, Server, decision

NAMES = part_names("tiny", 3)


def _facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"file": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@pytest.fixture
def folder(tiny_llama: Path, tmp_path: Path) -> Path:
    """An unpacked archive of three parts and a file of the tokenizer."""
    folder = tmp_path / "model"
    folder.mkdir()
    first, *further = split_gguf(tiny_llama, folder, stem="tiny", count=3)
    (folder / "tokenizer.json").write_text("{}")
    manifest = {
        "manifest_version": 1,
        "name": "tiny",
        "gguf": {**_facts(first), "parts": [_facts(each) for each in further]},
        "tokenizer": [_facts(folder / "tokenizer.json")],
        "serving": {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 1024},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def _identity(folder: Path) -> str:
    lines = "".join(f"{_facts(folder / name)['sha256']}  {name}\n" for name in NAMES)
    return hashlib.sha256(lines.encode()).hexdigest()


def test_all_parts_are_verified_and_the_first_stands_for_them(folder: Path) -> None:
    gguf = find(folder).gguf
    assert (gguf.path, gguf.file) == (folder / NAMES[0], NAMES[0])
    assert gguf.bytes == sum((folder / name).stat().st_size for name in NAMES)
    assert gguf.sha256 == _identity(folder)


def test_a_bare_first_part_brings_those_beside_it(folder: Path) -> None:
    assert find(folder / NAMES[0]).gguf == find(folder).gguf
    (folder / NAMES[2]).unlink()
    with pytest.raises(StartupFailure, match=f"missing here: \\['{NAMES[2]}'\\]"):
        find(folder / NAMES[0])
    with pytest.raises(StartupFailure, match="the first of 3 parts is needed"):
        find(folder / NAMES[1])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _renamed(folder: Path) -> None:
    """A part that is verified under another name, and beside it one that nobody verified, where llama.cpp looks."""
    (folder / NAMES[1]).rename(folder / "other.gguf")
    (folder / NAMES[1]).write_bytes((folder / "other.gguf").read_bytes()[:-1] + b"x")
    _edit(folder, lambda it: it["gguf"]["parts"][0].update(file="other.gguf"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda folder: _flip(folder / NAMES[2]), f"{NAMES[2]} has sha256 "),
        (lambda folder: (folder / NAMES[1]).unlink(), f"{NAMES[1]} is named by manifest.json and is not a regular"),
        (lambda folder: _flip(folder / "tokenizer.json"), "tokenizer.json has sha256 "),
        (
            lambda folder: _edit(folder, lambda it: it["gguf"]["parts"].pop()),
            f"{NAMES[0]} is part 1 of 3 by its header; part 1 of 2 is needed here",
        ),
        (
            lambda folder: _edit(folder, lambda it: it["gguf"]["parts"].reverse()),
            f"{NAMES[2]} is part 3 of 3 by its header; part 2 of 3 is needed here",
        ),
        (
            lambda folder: _edit(folder, lambda it: it["gguf"].pop("parts")),
            f"{NAMES[0]} is part 1 of 3 by its header; a whole model is needed here",
        ),
        (lambda folder: _edit(folder, lambda it: it["gguf"].update(parts={})), "parts is {}; a list is needed"),
        (lambda folder: _renamed(folder), "the parts are named .*, other.gguf, .*; NAME-00001-of-00003.gguf and so on"),
        (
            lambda folder: _edit(folder, lambda it: it["gguf"]["parts"][0].update(file="../x.gguf")),
            r"gguf\.parts\[0\]\.file is '../x.gguf'; a plain file name",
        ),
    ],
)
def test_what_is_not_the_whole_declared_model_is_not_loaded(
    folder: Path, change: Callable[[Path], object], expected: str
) -> None:
    change(folder)
    with pytest.raises(StartupFailure, match=expected):
        find(folder)


def test_a_server_answers_from_the_parts_as_from_the_whole(folder: Path, tiny_llama: Path, tmp_path: Path) -> None:
    answers = []
    for name, path in (("parts", folder), ("whole", tiny_llama)):
        with Server(SERVE, tmp_path / name, {"DECISION_MODEL_PATH": str(path), "DECISION_N_CTX": "1024"}) as server:
            answers.append(server.ask({"decision": decision()}).json["result"])
    parts, whole = answers
    assert (parts["model"]["gguf"]["sha256"], parts["model"]["gguf"]["file"]) == (_identity(folder), NAMES[0])
    for each in answers:
        del each["timing"], each["model"]
    assert parts == whole
