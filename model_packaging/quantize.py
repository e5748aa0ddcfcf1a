"""Requantizes a GGUF with llama.cpp's own quantizer, in a process of its own. The threads change no byte."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from .errors import PackagingError, UnavailableError
from .ggml_types import FILE_TYPE_NUMBERS
from .gguf_header import GgufHeader
from .integrity import require_free_space
from .progress import progress, say

_PACKAGE = "llama-cpp-python"
_MOST_THREADS = 16
_BYTES_A_VALUE = 34 / 32  # of Q8_0, the largest type that a declaration may ask for
_OTHER_BYTES = 64 << 20


def quantizer_version() -> str:
    """The package that quantizes, and its version. Raises UnavailableError where it is not installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise UnavailableError(
            f"[quantize] needs {_PACKAGE}; install it with: {sys.executable} -m pip install --require-hashes "
            "-r model_packaging/requirements-quantize.txt"
        )
    return f"{_PACKAGE} {version(_PACKAGE)}"


def quantize(source: Path, header: GgufHeader, target: Path, *, to: str) -> None:
    """Writes `target` as file type `to`. Raises PackagingError with llama.cpp's reason; `target` is then of no use."""
    threads = _threads()
    needed = int(header.parameters * _BYTES_A_VALUE) + _OTHER_BYTES
    require_free_space(target.parent, needed, "the requantized model")
    say(f"requantizing {header.file_type} to {to} with {threads} threads")
    command = [sys.executable, "-m", f"{__package__}.quantize_worker"]
    arguments = [str(source), str(target), str(FILE_TYPE_NUMBERS[to]), str(threads)]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        with (
            subprocess.Popen(
                [*command, *arguments], env=_environment(), stdout=subprocess.PIPE, stderr=log, text=True
            ) as worker,
            progress("requantizing", header.n_tensors, unit="tensors") as advance,
        ):
            assert worker.stdout is not None  # noqa: S101 # for the type checker: PIPE was asked for
            for line in worker.stdout:
                if line.startswith("step "):
                    advance(1)
        log.seek(0)
        lines = [line.strip() for line in log if line.strip()]
    if worker.returncode != 0:
        ending = f"signal {-worker.returncode}" if worker.returncode < 0 else f"status {worker.returncode}"
        reason = lines[-1] if lines else "llama.cpp gave no reason"
        raise PackagingError(f"quantize: {header.file_type} to {to} ended with {ending}: {reason}")
    for line in lines:
        say(line)


def _threads() -> int:
    """As many as this process may use; beyond 16 the quantizer gains nothing."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST_THREADS)


def _environment() -> dict[str, str]:
    """The worker finds this package wherever the build was started from."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
