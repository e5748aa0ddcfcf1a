"""A model in several files: each one pinned, all of them in the archive, and nothing but whole models together."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_packaging.errors import PackagingError
from model_packaging.gguf_header import read_model_files
from tests.fixtures.split_gguf import part_names, split_gguf
from tests.packaging.conftest import Declare, build_below, left_below, run_cli
from tests.packaging.model_hub import REPO, REVISION, serve_model_hub

DeclareParts = Callable[..., Path]
NAMES = part_names("tiny", 3)


@pytest.fixture
def parts(tiny: Path, tmp_path: Path) -> list[Path]:
    return split_gguf(tiny, tmp_path, stem="tiny", count=3)


@pytest.fixture
def declare_parts(declare: Declare, parts: list[Path]) -> DeclareParts:
    """A declaration of the three parts, right as it stands."""

    def write(**changes: object) -> Path:
        first, *further = [_facts(each) for each in parts]
        return declare(parts[0], **{**first, "file": NAMES[0], "parts": further, **changes})

    return write


def _facts(path: Path) -> dict[str, object]:
    return {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def test_all_parts_are_packed_listed_and_verified(
    declare_parts: DeclareParts, parts: list[Path], tiny: Path, tmp_path: Path
) -> None:
    answer = run_cli("build", declare_parts(), "--output", tmp_path / "out").json
    facts = answer["manifest"]["gguf"]
    assert (facts["file"], facts["architecture"], facts["file_type"]) == (NAMES[0], "llama", "F16")
    assert [facts["sha256"], *(each["sha256"] for each in facts["parts"])] == [_facts(each)["sha256"] for each in parts]
    assert [each["file"] for each in facts["parts"]] == NAMES[1:]
    with tarfile.open(tmp_path / "out/model.tar.gz") as tar:
        assert tar.getnames() == ["manifest.json", *NAMES]
    assert run_cli("verify", tmp_path / "out/model.tar.gz").json["manifest"] == answer["manifest"]


def test_parts_of_the_hub_are_fetched_by_their_rule(
    declare_parts: DeclareParts, parts: list[Path], tmp_path: Path
) -> None:
    contents = {each.name: each.read_bytes() for each in parts}
    source = {"kind": "hub", "repo": REPO, "revision": REVISION, "file": f"Q4/{NAMES[0]}"}
    with serve_model_hub(b"", files={f"Q4/{name}": content for name, content in contents.items()}) as hub:
        ran = build_below(tmp_path, declare_parts(source=source), HF_ENDPOINT=hub.url)
        assert ran.json["manifest"]["source"] == source
        asked = [request.path for request in hub.requests if request.host == "hub"]
    assert asked == [f"/{REPO}/resolve/{REVISION}/Q4/{name}" for name in NAMES]


def test_a_part_that_is_not_the_declared_one_leaves_no_archive(
    declare_parts: DeclareParts, parts: list[Path], tmp_path: Path
) -> None:
    path = declare_parts()
    data = bytearray(parts[2].read_bytes())
    data[-1] ^= 1
    parts[2].write_bytes(data)
    ran = build_below(tmp_path, path)
    assert (ran.status, f"{NAMES[2]}: sha256: " in ran.error) == (2, True)
    assert left_below(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"parts": None}, "parts: 0 given; 2 needed, one table for each part after the first"),
        ({"file": "tiny.gguf"}, "file: 'tiny.gguf' given; NAME-00001-of-00003.gguf: the archive holds 3 parts"),
        ({"file": NAMES[1]}, f"file: '{NAMES[1]}' given; NAME-00001-of-00003.gguf"),
        ({"source": {"kind": "file", "path": NAMES[1]}}, f"source: '{NAMES[1]}' given; the first of 2 to 99 parts"),
        ({"source": {"kind": "file", "path": "tiny.gguf"}}, "parts: 2 given; none: the source's name has no"),
        ({"quantize": {"to": "Q8_0"}}, f"file: '{NAMES[0]}' given; a name without -NNNNN-of-NNNNN"),
        ({"parts": [{"bytes": 1}, {"bytes": 1}]}, "parts[0].sha256: missing"),
    ],
)
def test_a_declaration_says_of_parts_what_can_be(
    declare_parts: DeclareParts, tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    path = declare_parts(**changes)
    assert run_cli("build", path, "--output", tmp_path / "out").error.startswith(f"{path}: {expected}")


def test_requantizing_makes_one_file_of_all_parts(declare_parts: DeclareParts, tiny: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    made = run_cli("quantize", tiny, "--to", "Q8_0", "--output", whole / "q.gguf").json
    path = declare_parts(file="tiny.gguf", quantize={"to": "Q8_0"})
    manifest = run_cli("build", path, "--output", tmp_path / "out").json["manifest"]
    assert (manifest["gguf"]["file"], "parts" in manifest["gguf"]) == ("tiny.gguf", False)
    assert manifest["gguf"]["file_type"] == "Q8_0"
    assert manifest["gguf"]["bytes"] in range(made["bytes"], made["bytes"] + 512)  # the splitting's own three keys
    lines = "".join(f"{_facts(tmp_path / name)['sha256']}  {name}\n" for name in NAMES)
    assert manifest["quantization"]["from_sha256"] == hashlib.sha256(lines.encode()).hexdigest()


def test_a_part_alone_or_out_of_order_or_of_another_model_is_no_model(parts: list[Path], tmp_path: Path) -> None:
    def read(*paths: Path) -> None:
        read_model_files(paths, names=[each.name for each in paths])

    first, second, third = parts
    read(first, second, third)
    for paths, expected in (
        ((first,), "one of 3 parts; 1 given, all are needed"),
        ((second, first, third), "is no first part"),
        ((first, third, second), "part 3 of 3; part 2 of 3 expected"),
        ((first, second, second), "part 2 of 3; part 3 of 3 expected"),
    ):
        with pytest.raises(PackagingError, match=expected):
            read(*paths)
    fewer = bytearray(third.read_bytes())
    place = fewer.index(b"split.tensors.count") + len(b"split.tensors.count") + 4
    fewer[place] += 1
    third.write_bytes(fewer)
    with pytest.raises(PackagingError, match=r"split\.tensors\.count: \d+; the parts hold \d+"):
        read(first, second, third)


def test_a_manifest_that_hides_a_part_is_refused(declare_parts: DeclareParts, tmp_path: Path) -> None:
    run_cli("build", declare_parts(), "--output", tmp_path / "out").json  # noqa: B018 # asserts that it succeeded
    folder = tmp_path / "unpacked"
    shutil.unpack_archive(tmp_path / "out/model.tar.gz", folder, filter="data")
    (folder / NAMES[2]).unlink()
    assert f"the manifest lists manifest.json, {', '.join(NAMES)}" in run_cli("verify", folder).error
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace(NAMES[2], NAMES[1]))
    assert f"gguf.parts: {[NAMES[1]] * 2} given; {NAMES[1:]} follow '{NAMES[0]}'" in run_cli("verify", folder).error
