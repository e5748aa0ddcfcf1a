"""Makes llama-cpp-python's wheel of its locked source, with build tools from a lock of their own, and installs it.

    python -m model_packaging.native_wheel FOLDER

For the model's build on AWS alone, where a declaration requantizes. pip by itself would fetch the newest tools that
there are, their hashes unknown.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_NAME = "llama-cpp-python"
_PIN = re.compile(rf"(?m)^{_NAME}==(?P<version>[^\s;\\]+)[^\\\n]*(?:\\\n[^\\\n]*)*")
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m model_packaging.native_wheel FOLDER", file=sys.stderr)
        return 2
    pin = _PIN.search((_HERE / "requirements-quantize.txt").read_text(encoding="utf-8"))
    if pin is None:
        print(f"requirements-quantize.txt: no line {_NAME}==<version>", file=sys.stderr)
        return 2
    if _installed() == pin["version"]:
        print(f"{_NAME} {pin['version']} is installed", flush=True)
        return 0
    try:
        _install(Path(arguments[0]), pin[0])
    except subprocess.CalledProcessError as error:
        print(f"{_NAME} {pin['version']}: exit status {error.returncode}; pip's own words stand above", file=sys.stderr)
        return 1
    return 0


def _installed() -> str | None:
    try:
        return metadata.version(_NAME)
    except metadata.PackageNotFoundError:
        return None


def _install(folder: Path, pin: str) -> None:
    """Raises CalledProcessError. The tools have an environment of their own, so none stays beside what they made."""
    tools = folder / "tools" / "bin"
    print(f"compiling {_NAME}, which takes minutes", flush=True)
    _run(sys.executable, "-m", "venv", str(folder / "tools"))
    python = str(tools / "python")
    lock = str(_HERE / "requirements-build.txt")
    _run(python, *_PIP, "install", "--require-hashes", "--only-binary", ":all:", "--requirement", lock)
    (folder / "source.txt").write_text(f"{pin}\n", encoding="utf-8")
    _run(
        python, *_PIP, "wheel", "--no-deps", "--require-hashes", "--no-build-isolation", "--no-binary", _NAME,
        "--requirement", str(folder / "source.txt"), "--wheel-dir", str(folder / "wheels"),
        path=f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    )  # fmt: skip
    _run(sys.executable, *_PIP, "install", "--no-index", "--no-deps", "--find-links", str(folder / "wheels"), _NAME)


def _run(*command: str, path: str | None = None) -> None:
    subprocess.run(command, check=True, env=None if path is None else {**os.environ, "PATH": path})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
