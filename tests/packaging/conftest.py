"""A tiny real GGUF, declarations of it, the real command line, and an S3 that the official client speaks to."""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from model_packaging.__main__ import main
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.packaging.model_hub import FILE, REPO, REVISION, ModelHub, serve_model_hub

ROOT = Path(__file__).resolve().parents[2]
Declare = Callable[..., Path]
_OUR_VARIABLES = ("HF_", "PIP_", "AWS_", "MODEL_PACKAGING_", "PYTHONWARNINGS")


@dataclass(frozen=True, kw_only=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one line of standard output."""
        assert self.status == 0, self.err
        (line,) = self.out.splitlines()
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def error(self) -> str:
        """The one line that says what was wrong."""
        assert self.out == ""
        assert "Traceback" not in self.err
        (line,) = [line for line in self.err.splitlines() if line.startswith("error: ")]
        return line.removeprefix("error: ")


def run_cli(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Ran:
    """The command line in this process, which saves the start of an interpreter."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, _environment(environment), clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse ends the process itself
            status = int(str(ended.code))
    return Ran(status=status, out=out.getvalue(), err=err.getvalue())


def build_below(folder: Path, declaration: Path, **environment: str) -> Ran:
    """`build` with its output in folder/out and its downloads in folder/cache."""
    places = ("--output", folder / "out", "--cache-dir", folder / "cache")
    return run_cli("build", declaration, *places, environment=environment)


def left_below(folder: Path) -> list[str]:
    """The files that stand in the cache and the output after `build_below`."""
    folders = (folder / "cache", folder / "out")
    return sorted(path.name for each in folders for path in each.rglob("*") if path.is_file())


def run_process(*arguments: str | Path, environment: Mapping[str, str] | None = None, umask: int = 0o022) -> Ran:
    """The command line as a person starts it."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "model_packaging", *map(str, arguments)],
        cwd=ROOT,
        env=_environment(environment),
        umask=umask,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(status=done.returncode, out=done.stdout, err=done.stderr)


def _environment(additions: Mapping[str, str] | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUR_VARIABLES)}
    return {**kept, **(additions or {})}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture
def declare(tmp_path: Path, tiny: Path) -> Declare:
    """Writes a declaration; it is right as it stands. A keyword replaces a key, and None leaves it out."""

    def write(weights: Path = tiny, **changes: object) -> Path:
        data = weights.read_bytes()
        if weights.parent != tmp_path:  # a source of kind `file` lies beside its declaration
            (tmp_path / weights.name).write_bytes(data)
        values: dict[str, object] = {
            "name": "tiny",
            "file": "tiny.gguf",
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "licence": "apache-2.0",
            "source": {"kind": "file", "path": weights.name},
            "serving": {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 1024},
        }
        values.update(changes)
        path = tmp_path / "tiny.toml"
        path.write_text(_toml(values), encoding="utf-8")
        return path

    return write


def _toml(values: Mapping[str, object]) -> str:
    """JSON's strings, integers and booleans are TOML's as well; tables stand in one line each."""
    return "\n".join(f"{key} = {_toml_value(value)}" for key, value in values.items() if value is not None) + "\n"


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml_value(each)}" for key, each in value.items() if each is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value)


@pytest.fixture
def hub(tiny: Path) -> Iterator[ModelHub]:
    with serve_model_hub(tiny.read_bytes()) as server:
        yield server


@pytest.fixture
def declare_hub(declare: Declare) -> Declare:
    def write(**changes: object) -> Path:
        source = {"kind": "hub", "repo": REPO, "revision": REVISION, "file": FILE}
        return declare(**{"source": source, **changes})

    return write


@pytest.fixture(scope="session")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a client of the emulator, which runs while the tests do."""
    python = ROOT / ".venv-emulator" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python.parent.parent} is missing; `make setup` makes it")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("emulator")
    settings = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port), "MINISTACK_HOST": "127.0.0.1"}
    url = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-c", "from ministack.app import main; main()"],
            cwd=folder,
            env={**os.environ, **settings},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(url, process, folder / "log")
        yield {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            error.close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
