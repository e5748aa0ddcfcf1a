"""Requantizing on the way: recorded, repeatable, and an error of llama.cpp is an error of the build."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest

from model_packaging.errors import PackagingError
from model_packaging.gguf_header import read_header_file
from model_packaging.quantize import quantize
from tests.packaging.conftest import Declare, run_cli


def _quantized(source: Path, target: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("model_packaging.quantize._threads", lambda: threads)
    quantize(source, read_header_file(source, where="m.gguf"), target, to="Q8_0")
    return hashlib.sha256(target.read_bytes()).hexdigest()


def test_the_manifest_records_what_was_requantized_by_what(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    answer = run_cli("build", declare(quantize={"to": "Q8_0"}), "--output", tmp_path / "out").json
    manifest = answer["manifest"]
    assert manifest["quantization"] == {
        "from_sha256": hashlib.sha256(tiny.read_bytes()).hexdigest(),
        "from_file_type": "F16",
        "to": "Q8_0",
        "llama_cpp": "llama-cpp-python 0.3.36",
    }
    assert manifest["gguf"]["file_type"] == "Q8_0"
    with tarfile.open(tmp_path / "out/model.tar.gz", "r:gz") as tar:
        content = tar.extractfile("tiny.gguf")
        assert content is not None
        assert hashlib.sha256(content.read()).hexdigest() == manifest["gguf"]["sha256"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model.tar.gz", "provenance.json"]


def test_the_thread_count_changes_no_byte(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, three = (_quantized(tiny, tmp_path / f"{count}.gguf", count, monkeypatch) for count in (1, 3))
    assert one == three


def test_a_pinned_result_is_checked(declare: Declare, tmp_path: Path) -> None:
    wrong = run_cli("build", declare(quantize={"to": "Q8_0", "sha256": "0" * 64}), "--output", tmp_path / "out")
    assert (wrong.status, f"quantize.sha256: " in wrong.error) == (2, True)  # noqa: F541
    assert list((tmp_path / "out").iterdir()) == []
    digest = wrong.error.split("quantize.sha256: ")[1].split(" ")[0]
    right = run_cli("build", declare(quantize={"to": "Q8_0", "sha256": digest}), "--output", tmp_path / "out").json
    assert right["manifest"]["gguf"]["sha256"] == digest


def test_a_model_that_llama_cpp_refuses_fails_with_its_reason(tiny: Path, tmp_path: Path) -> None:
    header = read_header_file(tiny, where="m.gguf")
    unknown = tmp_path / "unknown.gguf"
    unknown.write_bytes(tiny.read_bytes().replace(b"llama", b"lxama"))
    with pytest.raises(PackagingError, match=r"F16 to Q8_0 ended with status 1: .*unknown model architecture: 'lxama'"):
        quantize(unknown, header, tmp_path / "out.gguf", to="Q8_0")


def test_a_quantizer_that_dies_is_an_error_and_not_the_end_of_the_build(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "broken" / "llama_cpp"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import os\nos.abort()\n")
    monkeypatch.setattr("model_packaging.quantize._environment", lambda: {"PYTHONPATH": f"{package.parent}:."})
    with pytest.raises(PackagingError, match="ended with signal 6"):
        quantize(tiny, read_header_file(tiny, where="m.gguf"), tmp_path / "out.gguf", to="Q8_0")
