"""Brings a checkout to the point where everything runs: two virtual environments and the pinned cdk command line.

Runs with the system's Python, before anything is installed, so it uses the standard library alone. A second run finds
its stamps and ends at once. What is installed is decided by the lock files; this module knows none of their contents.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / ".cache" / "setup.log"
MINIMUM_PYTHON = (3, 10)
MINIMUM_NODE = 20
# Compiled here: PyPI has only its source. The argument leaves out the multimodal part, which scoring never calls.
NATIVE_PACKAGE = "llama-cpp-python"
NATIVE_ARGUMENTS = "-DLLAVA_BUILD=OFF"
HEARTBEAT_SECONDS = 15.0


class SetupError(Exception):
    """Something the person at the keyboard can mend; its text says what and how."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make setup", description=__doc__.splitlines()[0])
    parser.add_argument("--runtime-only", action="store_true", help="only .venv, as `make serve` needs it")
    parser.add_argument(
        "--benchmarks", action="store_true", help="only .venv and .venv-bench, as `make bench` needs them"
    )
    arguments = parser.parse_args()
    whole = not (arguments.runtime_only or arguments.benchmarks)
    try:
        check_tools(node=whole)
        make_environment(".venv", "requirements-dev.txt")
        if arguments.benchmarks:
            make_environment(".venv-bench", "benchmarks/requirements.txt", installer=ROOT / ".venv")
        if whole:
            make_environment(".venv-emulator", "local/requirements.txt", installer=ROOT / ".venv")
            install_cdk()
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    return 0


def check_tools(*, node: bool) -> None:
    """Raises SetupError naming the first missing tool, the version seen and the one needed."""
    if sys.version_info < MINIMUM_PYTHON:
        seen = ".".join(map(str, sys.version_info[:3]))
        raise SetupError(f"Python {seen} found; 3.10 or newer is needed. Remedy: make PYTHON=python3.12 …")
    for names in (("c++", "g++", "clang++"), ("cc", "gcc", "clang"), ("cmake",)):
        if not any(shutil.which(name) for name in names):
            raise SetupError(f"{names[0]} not found; llama.cpp is compiled once. Remedy: apt-get install g++ cmake")
    if not node:
        return
    if not (shutil.which("node") and shutil.which("npm")):
        raise SetupError("node and npm not found; the AWS CDK command line needs Node.js 20 or newer")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < MINIMUM_NODE:
        raise SetupError(f"Node.js {version} found; {MINIMUM_NODE} or newer is needed")


def make_environment(name: str, lock: str, *, installer: Path | None = None) -> None:
    """Creates the virtual environment `name` and installs exactly what `lock` lists, hashes checked."""
    folder = ROOT / name
    stamp = folder / "setup-stamp"
    wanted = fingerprint(ROOT / lock, ROOT / "local/bootstrap-requirements.txt", text=NATIVE_ARGUMENTS)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"{name}: installing what {lock} lists")
    if not (folder / "bin/python").exists():
        run([sys.executable, "-m", "venv", str(folder)], f"creating {name}")
    stamp.unlink(missing_ok=True)
    if installer is None:
        installer = folder
        run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--require-hashes", "-r", str(ROOT / "local/bootstrap-requirements.txt")], "installing uv")  # fmt: skip
    run([str(installer / "bin/uv"), "pip", "sync", "--python", str(folder / "bin/python"), "--require-hashes",
         str(with_native_wheel(ROOT / lock, folder / "bin/python"))], f"installing {lock}")  # fmt: skip
    stamp.write_text(wanted)


def with_native_wheel(lock: Path, python: Path) -> Path:
    """The lock file with the native package's source replaced by a wheel made from it; the source's hash is checked.

    The wheel is kept for the user, not for the checkout, by source, arguments and processor: a second checkout compiles
    nothing. (uv keeps wheels too, but compiles again where the package index sends no cache headers.)
    """
    text = lock.read_text()
    pinned = re.search(rf"^{NATIVE_PACKAGE}==[^\\\n]*(?:\\\n[^\\\n]*)*", text, re.MULTILINE)
    if pinned is None:
        return lock
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "decision-endpoint" / "wheels"
    key = hashlib.sha256(f"{pinned[0]} {NATIVE_ARGUMENTS} {processor()}".encode()).hexdigest()[:32]
    kept = cache / key
    if not list(kept.glob("*.whl")):
        try:  # before minutes of compiling, and on the file system that the wheel is to stay on
            cache.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix="building-", dir=cache))
        except OSError as error:
            raise SetupError(f"{cache} cannot be written: {error.strerror}. Remedy: set XDG_CACHE_HOME") from error
        try:
            (work / "source.txt").write_text(pinned[0] + "\n")
            command = [str(python), "-m", "pip", "wheel", "--verbose", "--no-deps", "--require-hashes",
                       "--no-cache-dir", "--no-binary", NATIVE_PACKAGE, "--disable-pip-version-check",
                       "-r", str(work / "source.txt"), "-w", str(work / "wheel")]  # fmt: skip
            run(command, NATIVE_PACKAGE, CMAKE_ARGS=NATIVE_ARGUMENTS)
            with contextlib.suppress(OSError):  # another set-up was quicker; its wheel is as good
                (work / "wheel").rename(kept)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    wheel = next(kept.glob("*.whl"))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    result = ROOT / ".cache" / f"native-{lock.name}"
    result.parent.mkdir(exist_ok=True)
    line = f"{NATIVE_PACKAGE} @ {wheel.as_uri()} --hash=sha256:{digest}"
    result.write_text(text.replace(pinned[0], line))
    return result


def processor() -> str:
    """What the compiler's `native` depends on: a home folder may be shared by machines that differ."""
    flags = Path("/proc/cpuinfo")
    lines = set(flags.read_text().splitlines()) if flags.exists() else set()
    return platform.machine() + " ".join(sorted(line for line in lines if re.match("flags|Features|model name", line)))


def install_cdk() -> None:
    stamp = ROOT / "node_modules" / "setup-stamp"
    wanted = fingerprint(ROOT / "package-lock.json")
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say("node_modules: installing the cdk command line that package-lock.json pins")
    run(["npm", "ci", "--no-progress"], "npm ci")
    stamp.write_text(wanted)


def fingerprint(*files: Path, text: str = "") -> str:
    digest = hashlib.sha256(f"{sys.version_info[:3]} {platform.machine()} {text}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def installer_environment() -> dict[str, str]:
    """uv reads no pip.conf: hands over the index and certificates of pip, unless uv has its own."""
    environment = dict(os.environ)
    for variable, option in (("UV_DEFAULT_INDEX", "global.index-url"), ("SSL_CERT_FILE", "global.cert")):
        if variable not in environment and (value := pip_setting(option)):
            environment[variable] = value
    return environment


@functools.cache  # each answer starts an interpreter, and no set-up changes pip's configuration
def pip_setting(option: str) -> str:
    """What pip is configured with; empty where it is not."""
    answer = subprocess.run([sys.executable, "-m", "pip", "config", "get", option],
                            capture_output=True, text=True, check=False)  # fmt: skip
    return answer.stdout.strip() if answer.returncode == 0 else ""


def run(command: list[str], what: str, **variables: str) -> None:
    """Runs `command` with these environment variables added, its output in the log, a line of progress now and then.

    Raises SetupError with the log's end.
    """
    LOG.parent.mkdir(parents=True, exist_ok=True)
    started = last_word = time.monotonic()
    position = LOG.stat().st_size if LOG.exists() else 0
    environment = {**installer_environment(), **variables}
    with LOG.open("ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        while True:
            try:
                code = process.wait(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() - last_word >= HEARTBEAT_SECONDS:
                    last_word = time.monotonic()
                    say(f"  {what}: {progress(position)}, {last_word - started:.0f} s so far")
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise SetupError("interrupted; run it again to go on") from None
    if code != 0:
        with LOG.open("rb") as log:
            log.seek(position)
            lines = log.read().decode(errors="replace").splitlines()[-25:]
        tail = "\n".join(f"    {line[:300]}" for line in lines)
        raise SetupError(f"{what} failed with exit code {code}. The end of {LOG.relative_to(ROOT)}:\n{tail}")


def progress(position: int) -> str:
    """What the log written since `position` says about a running compilation, in words."""
    with LOG.open("rb") as log:
        log.seek(position)
        steps = re.findall(rb"\[(\d+)/(\d+)\] ", log.read())
    if not steps:
        return "working"
    return f"compiling llama.cpp (once; the result is kept), step {int(steps[-1][0])} of {int(steps[-1][1])}"


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
