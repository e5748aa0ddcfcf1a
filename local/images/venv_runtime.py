"""The container's Python environment on this machine, for when no image can be built: one for each requirements file.

As in the image, llama-cpp-python brings no library of its own here and is pointed at one folder of llama.cpp libraries:
there the base image's, here a copy of those that `make setup` compiled. So nothing is compiled a second time.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.images.errors import ImageError
from local.images.lock import locked
from local.images.paths import ROOT, Cache
from local.setup import installer_environment

# CMake is told not to look for the compiler that it would not use.
_CMAKE = "-DLLAMA_BUILD=OFF;-DLLAVA_BUILD=OFF;" + ";".join(
    f"-DCMAKE_{language}_COMPILER{suffix}" for language in ("C", "CXX") for suffix in ("=/bin/false", "_FORCED=1")
)
_INSTALL = ("--no-binary", "llama-cpp-python", "--config-settings-package", f"llama-cpp-python:cmake.args={_CMAKE}")
BUILD_LOCK = "requirements-build.txt"
_PIN = re.compile(r"(?m)^llama-cpp-python==(?P<version>\S+)")


@dataclass(frozen=True, kw_only=True)
class VenvRuntime:
    folder: Path
    libraries: Path

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LLAMA_CPP_LIB_PATH": str(self.libraries),
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }


def make(requirements: Path, *, cache: Cache, say: Callable[[str], None]) -> VenvRuntime:
    """The environment for these requirements, made if it is not there. Raises ImageError in the installer's words.

    Beside the requirements lies the lock of what llama-cpp-python is built with.
    """
    build_lock = requirements.with_name(BUILD_LOCK)
    if not build_lock.is_file():
        raise ImageError(f"{build_lock}: no such file; it pins what builds llama-cpp-python. Remedy: build again")
    content = requirements.read_bytes() + build_lock.read_bytes()
    libraries = native_libraries(requirements.read_text(), cache=cache)
    facts = f"{platform.python_implementation()} {platform.python_version()} {platform.machine()} {_INSTALL}"
    key = hashlib.sha256(content + facts.encode() + libraries.parent.name.encode()).hexdigest()[:32]
    runtime = VenvRuntime(folder=cache.environments / key, libraries=libraries)
    stamp = runtime.folder / "complete"
    with locked(cache.environments / f"{key}.lock"):
        if stamp.exists():
            say(f"environment {key}: as these requirements want it, reused")
            return runtime
        say(f"environment {key}: installing the container's requirements, hashes checked")
        shutil.rmtree(runtime.folder, ignore_errors=True)
        _run([_uv(), "venv", "--quiet", "--python", sys.executable, str(runtime.folder)])
        _run([_uv(), "pip", "install", "--python", str(runtime.python), "--require-hashes", *_INSTALL,
              "--build-constraints", str(build_lock), "--requirements", str(requirements)])  # fmt: skip
        stamp.touch()
    return runtime


def native_libraries(requirements: str, *, cache: Cache) -> Path:
    """A folder with the llama.cpp libraries of the version that `requirements` pins, named after its content.

    Files of equal content become one file and links, as `cmake --install` leaves them: a library that is loaded under
    two names must be one library.
    """
    pin = _PIN.search(requirements)
    if pin is None:
        raise ImageError("requirements.txt: llama-cpp-python is pinned by no line llama-cpp-python==<version>")
    packages = next((ROOT / ".venv" / "lib").glob("python3*/site-packages/llama_cpp_python-*.dist-info"), None)
    if packages is None:
        raise ImageError("llama.cpp is not compiled yet. Remedy: make setup")
    compiled = packages.name.removeprefix("llama_cpp_python-").removesuffix(".dist-info")
    if compiled != pin["version"]:
        raise ImageError(
            f"requirements.txt pins llama-cpp-python {pin['version']}; the compiled libraries are of {compiled}. "
            "Remedy: make lock setup, so that both are the same"
        )
    files = sorted((packages.parent / "llama_cpp" / "lib").glob("lib*.so*"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    target = cache.native_libraries / digest.hexdigest()[:32] / "bin"
    if not files:
        raise ImageError(f"{packages.parent / 'llama_cpp' / 'lib'}: no library there. Remedy: make clean setup")
    with locked(cache.native_libraries / "lock"):
        if not target.exists():
            partial = target.with_name("partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            _copy_once(files, partial)
            os.replace(partial, target)
    return target


def _copy_once(files: list[Path], target: Path) -> None:
    """Readable to all, whatever the umask is: an image's base gets them as they are here."""
    target.chmod(0o755)
    names: dict[bytes, str] = {}
    for file in sorted(files, key=lambda path: len(path.name), reverse=True):
        content = hashlib.sha256(file.read_bytes()).digest()
        if content in names:
            (target / file.name).symlink_to(names[content])
        else:
            names[content] = file.name
            shutil.copyfile(file, target / file.name)
            (target / file.name).chmod(0o644)


def _uv() -> str:
    beside = ROOT / ".venv" / "bin" / "uv"
    if not beside.exists():
        raise ImageError(f"{beside} is missing. Remedy: make setup")
    return str(beside)


def _run(command: list[str]) -> None:
    environment = {
        name: value for name, value in installer_environment().items() if name not in ("VIRTUAL_ENV", "CMAKE_ARGS")
    }
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise ImageError(
            f"{Path(command[0]).name} {command[1]} failed with exit code {done.returncode}:\n{done.stdout[-6000:]}"
        )
