"""A library folder that cannot serve ends the start with one line, never with a crash later (F1).

Each case runs in a process of its own, because a native library is loaded once. Libraries that do not fit are made of
the real one with single functions put before its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

LOAD = """
import sys
from decision_server.engine import library
from decision_server.model_errors import StartupFailure
try:
    print("loaded from", library.load().folder)
except StartupFailure as error:
    sys.exit(str(error))
"""
CONTAINER = Path(__file__).resolve().parents[2] / "container"


def real_folder() -> Path:
    spec = util.find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "lib"


def load(folder: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(CONTAINER)}
    environment.pop("LLAMA_CPP_LIB_PATH", None)
    if folder is not None:
        environment["LLAMA_CPP_LIB_PATH"] = str(folder)
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def shim(folder: Path, source: str) -> Path:
    """A libllama whose functions are those of `source`, and the real one's where it has none."""
    (folder / "shim.c").write_text(source)
    real = real_folder()
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "libllama.so"),
        str(folder / "shim.c"),
        "-Wl,--no-as-needed",
    ]
    subprocess.run([*command, str(real / "libllama.so"), f"-Wl,-rpath,{real}"], check=True)
    return folder


def failure(folder: Path) -> str:
    result = load(folder)
    assert result.returncode == 1, result
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


def test_the_binding_s_own_library_loads() -> None:
    result = load(None)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"loaded from {real_folder()}\n"


def test_a_whole_copy_of_the_library_loads_from_the_folder_that_is_named(tmp_path: Path) -> None:
    shutil.copytree(real_folder(), tmp_path / "lib", symlinks=True)
    result = load(tmp_path / "lib")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"loaded from {tmp_path / 'lib'}\n"


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    assert f"no libllama in {tmp_path}" in failure(tmp_path)


def test_a_library_without_a_function_of_the_binding_is_named_with_the_binding(tmp_path: Path) -> None:
    (tmp_path / "old.c").write_text("int llama_nothing(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libllama.so"), str(tmp_path / "old.c")], check=True)
    message = failure(tmp_path)
    assert f"library in {tmp_path} does not fit llama-cpp-python 0.3.36" in message
    assert "undefined symbol" in message


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "libllama.so").write_text("not a library")
    assert f"library in {tmp_path} does not fit llama-cpp-python 0.3.36" in failure(tmp_path)


def test_structures_of_another_layout_are_found_before_any_is_used(tmp_path: Path) -> None:
    source = """
    struct parameters { unsigned first; unsigned n_ctx; unsigned more[300]; };
    struct parameters llama_context_default_params(void) {
        struct parameters result = {0};
        result.n_ctx = 512;
        return result;
    }
    """
    message = failure(shim(tmp_path, source))
    assert "does not fit llama-cpp-python 0.3.36: llama_context_params.n_ctx is 0 by default; 512 expected" in message


def test_dynamic_backends_are_loaded_from_the_library_s_folder(tmp_path: Path) -> None:
    source = """
    #include <stdio.h>
    unsigned long ggml_backend_reg_count(void) { return 0; }
    void ggml_backend_load_all_from_path(const char * folder) { printf("backends of %s\\n", folder); fflush(stdout); }
    """
    assert f"backends of {tmp_path}\n" in load(shim(tmp_path, source)).stdout


def test_a_folder_without_a_cpu_backend_is_named(tmp_path: Path) -> None:
    source = """
    unsigned long ggml_backend_reg_count(void) { return 0; }
    void ggml_backend_load_all_from_path(const char * folder) { (void) folder; }
    void * ggml_backend_dev_by_type(int type) { (void) type; return 0; }
    """
    assert f"the folder {tmp_path} holds no ggml CPU backend" in failure(shim(tmp_path, source))


def test_native_files_from_two_folders_are_refused(tmp_path: Path) -> None:
    message = failure(shim(tmp_path, "int shim_only(void) { return 1; }"))
    assert f"loaded from beside {tmp_path}" in message
    assert str(real_folder()) in message


def test_the_engine_is_the_only_importer_of_llama_cpp() -> None:
    sources = {path: path.read_text() for path in (CONTAINER / "decision_server").rglob("*.py")}
    importers = {
        path.parent.name
        for path, text in sources.items()
        if re.search(r"import llama_cpp|(import_module|find_spec|modules)[\[(]\"llama_cpp", text)
    }
    assert importers == {"engine"}
