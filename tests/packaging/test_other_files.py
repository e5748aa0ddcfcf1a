"""What may be packed beside the weights, and what is taken for a language model by its name and is none."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from model_packaging.errors import PackagingError
from model_packaging.gguf_header import read_header_file
from tests.packaging.conftest import Declare, build_below, run_cli
from tests.packaging.model_hub import REPO, REVISION, serve_model_hub


def _tokenizer(content: bytes, **changes: object) -> dict[str, Any]:
    source = {"kind": "hub", "repo": REPO, "revision": REVISION, "file": "tokenizer.json"}
    facts = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {"file": "tokenizer.json", **facts, "source": source, **changes}


def test_tokenizer_files_are_fetched_from_their_own_source_packed_and_recorded(
    declare: Declare, tiny: Path, tmp_path: Path
) -> None:
    tokenizer, template = b'{"version": "1.0"}', b"{{ messages }}"
    (tmp_path / "chat_template.jinja").write_bytes(template)
    beside = {"kind": "file", "path": "chat_template.jinja"}
    entries = [_tokenizer(tokenizer), _tokenizer(template, file="chat_template.jinja", source=beside)]
    with serve_model_hub(b"", files={"tokenizer.json": tokenizer}) as hub:
        built = build_below(tmp_path, declare(tokenizer=entries), HF_ENDPOINT=hub.url).json
    assert built["manifest"]["tokenizer"] == sorted(entries, key=lambda each: str(each["file"]))
    with tarfile.open(tmp_path / "out/model.tar.gz") as tar:
        assert tar.getnames() == ["manifest.json", "chat_template.jinja", "tokenizer.json", "tiny.gguf"]
    assert run_cli("verify", tmp_path / "out/model.tar.gz").json["manifest"] == built["manifest"]


def test_a_tokenizer_file_that_is_not_the_declared_one_leaves_no_archive(declare: Declare, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    source = {"kind": "file", "path": "tokenizer.json"}
    pointer = run_cli("build", declare(tokenizer=[_tokenizer(b"{}", source=source)]), "--output", tmp_path / "out")
    assert (pointer.status, "this is a Git LFS pointer" in pointer.error) == (2, True)
    (tmp_path / "tokenizer.json").write_bytes(b"[]")
    other = run_cli("build", declare(tokenizer=[_tokenizer(b"{}", source=source)]), "--output", tmp_path / "out")
    assert (other.status, "tokenizer.json: sha256: " in other.error) == (2, True)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"tokenizer": [_tokenizer(b"x", file="evil.sh")]},
            "tokenizer[0].file: 'evil.sh' given; one of tokenizer.json",
        ),
        ({"tokenizer": [_tokenizer(b"x")] * 2}, "tokenizer: 'tokenizer.json' given twice; one table for each file"),
        ({"tokenizer": "tokenizer.json"}, "tokenizer: 'tokenizer.json' given; tables, one [[...]] each"),
        ({"licence_assumed": "yes"}, "licence_assumed: 'yes' given; true or false"),
        (
            {"source": {"kind": "file", "path": "/models/tiny.gguf"}},
            "source.path: '/models/tiny.gguf' given; a path in",
        ),
        ({"source": {"kind": "file", "path": "../tiny.gguf"}}, "source.path: '../tiny.gguf' given; a path in the"),
        ({"source": {"kind": "file", "path": "a/../../t.gguf"}}, "source.path: 'a/../../t.gguf' given"),
        ({"file": "mmproj-tiny.gguf"}, "file: 'mmproj-tiny.gguf' given; a projector of pictures or sounds (mmproj)"),
        ({"source": {"kind": "file", "path": "q/mmproj-F16.gguf"}}, "source: 'q/mmproj-F16.gguf' given; a projector"),
        ({"source": {"kind": "file", "path": "gemma-MMPROJ.gguf"}}, "source: 'gemma-MMPROJ.gguf' given; a projector"),
    ],
)
def test_what_cannot_be_packed_is_refused_by_name(
    declare: Declare, tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    path = declare(**changes)
    ran = run_cli("build", path, "--output", tmp_path / "out")
    assert (ran.status, ran.error.startswith(f"{path}: {expected}")) == (2, True), ran.error


@pytest.mark.parametrize(("architecture", "kind"), [("clip", "mmproj"), ("clip", None), ("llama", "mmproj")])
def test_a_projector_under_another_name_is_known_by_its_header(
    tmp_path: Path, architecture: str, kind: str | None
) -> None:
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, architecture)
    if kind is not None:
        writer.add_type(kind)
    writer.add_tensor("v.blk.0.weight", np.zeros(64, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(PackagingError, match=r"a projector of pictures or sounds \(mmproj\), which no decision"):
        read_header_file(path, where="model.gguf")
