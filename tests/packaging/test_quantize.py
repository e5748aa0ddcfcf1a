"""Requantizing on the way: recorded, repeatable, and an error of llama.cpp is an error of the build."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import llama_cpp
import pytest

from model_packaging.errors import PackagingError
from model_packaging.ggml_types import FILE_TYPE_NUMBERS, NEEDS_IMATRIX, QUANTIZABLE
from model_packaging.gguf_header import read_header_file
from model_packaging.quantize import quantize
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.packaging.conftest import ROOT, Declare, Ran, run_cli
from tests.packaging.imatrices import write_dat, write_gguf


def _quantized(source: Path, target: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("model_packaging.quantize._threads", lambda: threads)
    quantize(source, read_header_file(source, where="m.gguf"), target, to="Q8_0")
    return hashlib.sha256(target.read_bytes()).hexdigest()


def test_the_manifest_records_what_was_requantized_by_what(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    ran = run_cli("build", declare(quantize={"to": "Q8_0"}), "--output", tmp_path / "out")
    manifest = ran.json["manifest"]
    assert f"no endpoint can be bound to the result. What came out: {manifest['gguf']['sha256']}" in ran.err
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


# The command.


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of 256 values, which every type can hold."""
    return write_tiny_llama(tmp_path_factory.mktemp("wide") / "wide.gguf", embd=256)


def _run(source: Path, to: str, target: Path, imatrix: Path | None = None) -> Ran:
    extra = () if imatrix is None else ("--imatrix", imatrix)
    return run_cli("quantize", source, "--to", to, *extra, "--output", target)


def test_the_types_are_those_of_the_library() -> None:
    prefix = re.compile(r"LLAMA_FTYPE_(?:MOSTLY|ALL)_(.+)")
    found = {match[1]: getattr(llama_cpp, match[0]) for match in map(prefix.fullmatch, dir(llama_cpp)) if match}
    assert {name: FILE_TYPE_NUMBERS[name] for name in found} == found
    assert set(found) - set(QUANTIZABLE) == {"NVFP4"}  # which its quantizer refuses as an output type


@pytest.mark.parametrize("to", ["F32", "BF16", "Q8_0", "Q6_K", "Q4_K_M", "Q2_K", "IQ4_XS", "TQ2_0", "Q1_0"])
def test_a_model_is_written_as_the_type_that_was_asked_for(wide: Path, tmp_path: Path, to: str) -> None:
    target = tmp_path / "out.gguf"
    answer = _run(wide, to, target).json
    assert read_header_file(target, where="out").file_type == to
    data = target.read_bytes()
    assert answer == {
        "event": "quantized",
        "file": str(target),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "from_sha256": hashlib.sha256(wide.read_bytes()).hexdigest(),
        "from_file_type": "F16",
        "to": to,
        "llama_cpp": "llama-cpp-python 0.3.36",
        "imatrix_sha256": None,
        "imatrix_format": None,
    }
    assert list(tmp_path.iterdir()) == [target]


def test_an_importance_matrix_counts_in_either_format_alike(wide: Path, tmp_path: Path) -> None:
    old, new = write_dat(wide, tmp_path / "m.dat"), write_gguf(wide, tmp_path / "m.gguf")
    plain = _run(wide, "Q4_K_M", tmp_path / "plain.gguf").json
    by_old = _run(wide, "Q4_K_M", tmp_path / "old.gguf", old).json
    by_new = _run(wide, "Q4_K_M", tmp_path / "new.gguf", new).json
    assert by_old["sha256"] == by_new["sha256"] != plain["sha256"]
    assert by_old["imatrix_sha256"] == hashlib.sha256(old.read_bytes()).hexdigest()
    assert (by_old["imatrix_format"], by_new["imatrix_format"]) == ("dat", "gguf")


@pytest.mark.parametrize("to", ["Q2_K_S", "IQ3_XS"])
def test_a_type_that_needs_a_matrix_is_made_with_one_only(wide: Path, tmp_path: Path, to: str) -> None:
    refused = _run(wide, to, tmp_path / "out.gguf")
    assert (refused.status, "only with an importance matrix; give --imatrix FILE" in refused.error) == (2, True)
    made = _run(wide, to, tmp_path / "out.gguf", write_dat(wide, tmp_path / "m.dat"))
    assert made.json["to"] == to


@pytest.mark.parametrize("to", NEEDS_IMATRIX)
def test_llama_cpp_itself_needs_the_matrices_that_are_asked_for(wide: Path, tmp_path: Path, to: str) -> None:
    with pytest.raises(PackagingError, match="this quantization requires an imatrix"):
        quantize(wide, read_header_file(wide, where="m.gguf"), tmp_path / "out.gguf", to=to)


def test_a_matrix_of_another_model_is_refused_and_not_passed_over(wide: Path, tmp_path: Path) -> None:
    matrix = write_dat(wide, tmp_path / "m.dat")
    matrix.write_bytes(matrix.read_bytes().replace(b".weight", b".wright"))
    ran = _run(wide, "Q4_K_M", tmp_path / "out.gguf", matrix)
    assert (ran.status, "names none of the tensors of wide.gguf: it is of another model" in ran.error) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["m.dat"]


def test_a_source_that_is_rounded_already_or_none_is_refused(wide: Path, tmp_path: Path) -> None:
    once = tmp_path / "once.gguf"
    _run(wide, "Q4_0", once).json  # noqa: B018 # asserts that it succeeded
    twice = _run(once, "Q8_0", tmp_path / "twice.gguf")
    assert (twice.status, "file type Q4_0; F32, F16, BF16, Q8_0 allowed" in twice.error) == (2, True)
    assert "no such file" in _run(tmp_path / "none.gguf", "Q8_0", tmp_path / "x.gguf").error
    (tmp_path / "text.gguf").write_text("no model")
    assert "begins with b'no m'" in _run(tmp_path / "text.gguf", "Q8_0", tmp_path / "x.gguf").error


def test_nothing_is_written_over_and_the_name_is_a_ggufs(wide: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.gguf"
    there.write_text("mine")
    assert "is there already; remove it or choose another name" in _run(wide, "Q8_0", there).error
    assert there.read_text() == "mine"
    dangling = tmp_path / "dangling.gguf"
    dangling.symlink_to(tmp_path / "nowhere")
    assert "is there already" in _run(wide, "Q8_0", dangling).error
    assert "a name that ends in .gguf is needed" in _run(wide, "Q8_0", tmp_path / "x.bin").error
    assert "no such folder" in _run(wide, "Q8_0", tmp_path / "none" / "x.gguf").error


def test_of_two_that_quantize_into_one_file_one_writes_it_and_the_other_says_so(wide: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.gguf"
    command = [sys.executable, "-m", "model_packaging", "quantize", str(wide), "--output", str(target), "--to"]
    both = [
        subprocess.Popen([*command, to], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for to in ("Q8_0", "Q4_K_M")
    ]
    said = [process.communicate(timeout=60) for process in both]
    assert sorted(process.returncode for process in both) == [0, 2]
    ((won, _),) = [each for each in said if each[0]]
    ((_, lost),) = [each for each in said if not each[0]]
    assert f"error: {target}: is there already" in lost
    assert json.loads(won)["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupted_quantizing_leaves_nothing_and_ends_its_worker(wide: Path, tmp_path: Path) -> None:
    slow = (
        "import sys, model_packaging.quantize as quantize, model_packaging.__main__ as cli\n"
        "popen = quantize.subprocess.Popen\n"
        "def start(command, **options):\n"
        "    code = 'import time; print(\"step 1 2\", flush=True); time.sleep(60)'\n"
        "    worker = popen([sys.executable, '-c', code], **options)\n"
        "    print(worker.pid, flush=True)\n"
        "    return worker\n"
        "quantize.subprocess.Popen = start\n"
        "sys.exit(cli.run())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "quantize", str(wide), "--to", "Q8_0", "--output", str(tmp_path / "out.gguf")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    killer = threading.Timer(60, process.kill)
    killer.start()
    try:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        process.communicate()
    finally:
        killer.cancel()
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
    assert not Path(f"/proc/{worker}").exists()


def test_a_declared_matrix_is_pinned_and_recorded(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    matrix = write_gguf(tiny, tmp_path / "m.gguf")
    source = {"kind": "file", "path": "m.gguf"}
    facts = {"bytes": matrix.stat().st_size, "sha256": hashlib.sha256(matrix.read_bytes()).hexdigest()}
    quantizing = {"to": "Q4_1", "imatrix": {**facts, "source": source}}
    built = run_cli("build", declare(quantize=quantizing), "--output", tmp_path / "out").json
    recorded = {"sha256": facts["sha256"], "format": "gguf", "source": source}
    assert built["manifest"]["quantization"]["imatrix"] == recorded
    assert run_cli("verify", tmp_path / "out/model.tar.gz").json["manifest"] == built["manifest"]
    matrix.write_bytes(matrix.read_bytes() + b"x")
    other = run_cli("build", declare(quantize=quantizing), "--output", tmp_path / "out")
    assert (other.status, f"{facts['bytes']} declared" in other.error) == (2, True)


def test_a_declaration_of_a_type_that_needs_a_matrix_names_one(declare: Declare, tmp_path: Path) -> None:
    path = declare(quantize={"to": "IQ2_XS"})
    ran = run_cli("build", path, "--output", tmp_path / "out")
    assert ran.error.startswith(f"{path}: quantize.to: 'IQ2_XS' given; a type that llama.cpp makes only with")
