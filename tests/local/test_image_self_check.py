"""The check that ends an image build fails where answers are not what the weights say, whatever else is in order."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
import sbom_lock
import sbom_native
import self_check
import tiny_model
import tiny_reference

from local.workspace import CHECKOUT

LABELS = [ord("A"), ord("B")]


def answer() -> dict[str, Any]:
    """What a server that computes exactly would answer."""
    ids = tiny_reference.tokens(self_check.PROMPT)
    logits = tiny_reference.logits(ids)
    return {
        "prompt_sha256": hashlib.sha256(self_check.PROMPT.encode()).hexdigest(),
        "input_tokens": len(ids),
        "option_logits": logits[LABELS].tolist(),
        "allowed_token_mass": float(np.exp(logits[LABELS]).sum() / np.exp(logits).sum()),
        "full_vocab_argmax_id": int(logits.argmax()),
    }


def test_the_expected_logits_themselves_pass() -> None:
    assert self_check.check_logits(answer()) == 0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"prompt_sha256": "0" * 64}, "the prompt's sha256"),
        ({"input_tokens": 394}, "394 tokens; 395 expected"),
        ({"option_logits": [0.164, -1.13]}, "of the options"),
        ({"option_logits": [float("nan"), -1.13]}, "of the options"),
        ({"allowed_token_mass": 0.0028}, "allowed_token_mass"),
        ({"full_vocab_argmax_id": 0}, "full_vocab_argmax_id 0; 132"),
    ],
)
def test_each_number_that_is_off_is_named(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(self_check.SelfCheckError, match=reason):
        self_check.check_logits(answer() | changed)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ('struct.pack("<f", ROPE_BASE)', 'struct.pack("<f", ROPE_BASE / 2)'),
        ('struct.pack("<f", NORM_EPSILON)', 'struct.pack("<f", 0.1)'),
    ],
)
def test_a_library_that_computes_something_else_fails_the_build(tmp_path: Path, written: str, instead: str) -> None:
    """The file asks the library for another rotation, or another norm, than the expectation is computed with."""
    folder = tmp_path / "container"
    shutil.copytree(CHECKOUT / "container", folder, ignore=shutil.ignore_patterns("__pycache__"))
    source = (folder / "tiny_model.py").read_text()
    assert written in source
    (folder / "tiny_model.py").write_text(source.replace(written, instead))
    done = subprocess.run(
        [sys.executable, str(folder / "self_check.py")], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1, done.stdout
    assert "computed without llama.cpp" in done.stderr


def test_a_file_that_the_checks_user_may_not_read_is_named_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read all, so the refusal is the operating system's in name alone."""
    (tmp_path / "serve").write_text("")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(self_check.SelfCheckError) as caught:
        self_check.compile_sources(tmp_path)
    reason = f"serve: Permission denied, as user {os.geteuid()}. Remedy: files that every user may read"
    assert str(caught.value) == reason


def test_the_tiny_model_is_the_same_file_each_time(tmp_path: Path) -> None:
    tiny_model.write(tmp_path / "one")
    tiny_model.write(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


LOCK = """
flask==3.1.3 \\
    --hash=sha256:0
numpy==0.0.1 ; python_full_version < '3' \\
    --hash=sha256:1
Num.Py==2.4.6 ; python_full_version >= '3' \\
    --hash=sha256:2
"""


@pytest.mark.parametrize(
    ("installed", "differences"),
    [
        ({"flask": "3.1.3", "num-py": "2.4.6"}, []),
        ({"flask": "3.1.3", "num-py": "2.3.0"}, ["num-py: 2.3.0 installed; the lock pins 2.4.6"]),
        (
            {"num-py": "2.4.6", "pip": "25.0"},
            ["flask: nothing installed; the lock pins 3.1.3", "pip: 25.0 installed; the lock pins nothing"],
        ),
    ],
)
def test_what_is_missing_new_or_of_another_version_is_named_all_of_it(
    installed: dict[str, str], differences: list[str]
) -> None:
    lock = LOCK + "numpy==0.0.1 ; sys_platform == 'nowhere'\n"
    if not differences:
        sbom_lock.compare(installed, lock)
        return
    with pytest.raises(sbom_lock.SbomError) as caught:
        sbom_lock.compare(installed, lock)
    assert str(caught.value).splitlines() == differences


def test_the_lists_native_part_has_each_library_once_with_its_hash_and_llama_cpps_version(tmp_path: Path) -> None:
    libraries = Path(llama_cpp.__file__).parent / "lib"
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("libllama.so", "libggml-base.so"):
        file = (libraries / name).resolve()
        versioned = max((each.name for each in libraries.glob(f"{name}.*")), key=len)
        shutil.copyfile(file, folder / versioned)
        (folder / name).symlink_to(versioned)
    (folder / "libggml-cpu-haswell.so").write_bytes(b"a backend")
    (folder / "libother.so").write_bytes(b"none of llama.cpp's")
    found = sbom_native.llama_cpp(folder)
    parts = {part["name"]: part["hashes"][0]["content"] for part in found["components"]}
    assert parts == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if not path.is_symlink() and path.name != "libother.so"
    }
    assert len(parts) == 3
    assert f"libllama.so.{found['version']}" in parts
    assert {each["name"] for each in found["properties"]} == {"ggml:version", "ggml:commit"}
    (folder / "libllama.so").unlink()
    next(folder.glob("libllama.so.*")).unlink()
    with pytest.raises(sbom_lock.SbomError, match=r"no libllama\.so there"):
        sbom_native.llama_cpp(folder)


def test_the_base_image_is_listed_by_digest_and_by_nothing_less() -> None:
    found = sbom_native.base_image("public.ecr.aws/team/llama-cpp@sha256:" + "1f" * 32)
    assert (found["name"], found["version"]) == ("public.ecr.aws/team/llama-cpp", "sha256:" + "1f" * 32)
    purl = f"pkg:oci/llama-cpp@sha256%3A{'1f' * 32}?repository_url=public.ecr.aws/team/llama-cpp"
    assert found["purl"] == purl
    for reference in ("public.ecr.aws/team/llama-cpp:latest", ""):
        with pytest.raises(sbom_lock.SbomError, match="NAME@sha256"):
            sbom_native.base_image(reference)


C_SOURCE = "int {name}(void) {{ return 0; }}\n"


def compiled(folder: Path, library: str, *, function: str, needs: str | None = None) -> Path:
    """A shared library with one function. needs: another library, which is there for the linker alone."""
    (folder / "source.c").write_text(C_SOURCE.format(name=function))
    linked = [] if needs is None else ["-Wl,--no-as-needed", f"-L{folder}", f"-l:{needs}"]
    command = ["cc", "-shared", "-o", str(folder / library), str(folder / "source.c"), *linked]
    subprocess.run([*command, f"-Wl,-soname,{library}"], check=True)
    return folder / library


def test_an_image_for_gpus_without_the_cuda_backend_fails_its_build(tmp_path: Path) -> None:
    with pytest.raises(self_check.SelfCheckError, match=r"libggml-cuda\.so: no such file.*LIBRARIES=compiled-cuda"):
        self_check.check_backend(tmp_path, "cuda")
    (tmp_path / "libggml-cuda.so").write_bytes(b"not a library")
    with pytest.raises(self_check.SelfCheckError, match="cannot be loaded"):
        self_check.check_backend(tmp_path, "cuda")
    compiled(tmp_path, "libggml-cuda.so", function="something_else")
    with pytest.raises(self_check.SelfCheckError, match="has no ggml_backend_cuda_reg"):
        self_check.check_backend(tmp_path, "cuda")


@pytest.mark.parametrize(
    ("missing", "words"),
    [(None, "can be loaded"), ("libcuda.so.1", "libcuda.so.1 comes with the instance"), ("libcublas.so.13", None)],
)
def test_of_what_the_cuda_backend_needs_only_the_driver_may_be_missing_while_an_image_is_built(
    tmp_path: Path, missing: str | None, words: str | None
) -> None:
    if missing is not None:
        compiled(tmp_path, missing, function="needed")
    compiled(tmp_path, "libggml-cuda.so", function="ggml_backend_cuda_reg", needs=missing)
    if missing is not None:
        (tmp_path / missing).unlink()
    if words is None:
        with pytest.raises(self_check.SelfCheckError, match=r"cannot be loaded: libcublas\.so\.13"):
            self_check.check_backend(tmp_path, "cuda")
    else:
        assert words in self_check.check_backend(tmp_path, "cuda")


def test_the_whole_check_ends_there_where_a_backend_is_asked_for_and_needs_none_where_it_is_not() -> None:
    script = str(CHECKOUT / "container" / "self_check.py")
    asked = subprocess.run([sys.executable, script, "cuda"], capture_output=True, text=True, check=False, timeout=120)
    assert (asked.returncode, "libggml-cuda.so: no such file" in asked.stderr) == (1, True), asked.stderr
    cpu = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=120)
    assert cpu.returncode == 0, cpu.stderr
