"""Requantizes a GGUF with llama.cpp's own quantizer, in a process of its own. The threads change no byte."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import IO

from .disk_space import require_free_space
from .errors import PackagingError, UnavailableError
from .ggml_types import FILE_TYPE_NUMBERS
from .gguf_header import GgufHeader
from .gguf_tables import read_tables
from .imatrix import read_imatrix
from .progress import progress, say

_PACKAGE = "llama-cpp-python"
_MOST_THREADS = 16
_OTHER_BYTES = 64 << 20
_BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0}
_BITS_OF_Q8_0 = 8.5  # the largest type that any other file type mixes in


def quantizer_version() -> str:
    """The package that quantizes, and its version. Raises UnavailableError where it is not installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise UnavailableError(
            f"quantizing needs {_PACKAGE}; install it with: {sys.executable} -m pip install --require-hashes "
            "-r model_packaging/requirements-quantize.txt"
        )
    return f"{_PACKAGE} {version(_PACKAGE)}"


def quantize(source: Path, header: GgufHeader, target: Path, *, to: str, imatrix: Path | None = None) -> None:
    """Writes `target` as file type `to`. Raises PackagingError with llama.cpp's reason; `target` is then of no use.

    source: the first file where there are parts; they stand beside it.
    """
    if imatrix is not None:
        _check_fit(imatrix, source)
    threads = _threads()
    needed = int(header.parameters * _BITS.get(to, _BITS_OF_Q8_0) / 8) + _OTHER_BYTES
    require_free_space(target.parent, needed, "the requantized model")
    with_what = "" if imatrix is None else f", weighed by {imatrix.name},"
    say(f"requantizing {header.file_type} to {to}{with_what} with {threads} threads")
    arguments = [str(source), str(target), str(FILE_TYPE_NUMBERS[to]), str(threads)]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        status = _work([*arguments, *([] if imatrix is None else [str(imatrix)])], log, header.n_tensors)
        log.seek(0)
        lines = [line.strip() for line in log if line.strip()]
    if status != 0:
        ending = f"signal {-status}" if status < 0 else f"status {status}"
        reason = lines[-1] if lines else "llama.cpp gave no reason"
        raise PackagingError(f"quantize: {header.file_type} to {to} ended with {ending}: {reason}")
    for line in lines:
        say(line)


def _work(arguments: list[str], log: IO[str], n_tensors: int) -> int:
    """Runs the worker to its end; its exit status. It does not outlive an interruption of this process."""
    command = [sys.executable, "-m", f"{__package__}.quantize_worker", *arguments]
    with (
        subprocess.Popen(command, env=_environment(), stdout=subprocess.PIPE, stderr=log, text=True) as worker,
        progress("requantizing", n_tensors, unit="tensors") as advance,
    ):
        try:
            assert worker.stdout is not None  # noqa: S101 # for the type checker: PIPE was asked for
            for line in worker.stdout:
                if line.startswith("step "):
                    advance(1)
        except BaseException:
            worker.kill()
            raise
    return worker.returncode


def _check_fit(imatrix: Path, source: Path) -> None:
    """llama.cpp passes over what it does not find; a matrix of another model would change nothing, and say nothing."""
    names = read_imatrix(imatrix).means.keys()
    with source.open("rb") as stream:
        tables = read_tables(stream, source.stat().st_size, where=source.name)
    if tables.metadata.get("split.count", 0) in (0, 1) and not names & {tensor.name for tensor in tables.tensors}:
        raise PackagingError(f"{imatrix}: names none of the tensors of {source.name}: it is of another model")


def _threads() -> int:
    """As many as this process may use; beyond 16 the quantizer gains nothing."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST_THREADS)


def _environment() -> dict[str, str]:
    """The worker finds this package wherever the build was started from."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
