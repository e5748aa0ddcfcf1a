"""Finds and hashes the model's files on a thread of its own, while the main thread imports Python modules."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from decision_server import model_files

_begun: dict[Path, Future[model_files.ModelFiles]] = {}


def begin(path: Path) -> None:
    """Starts the search. What it raises is raised by `files`."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="hash")
    _begun[path] = pool.submit(model_files.find, path)
    pool.shutdown(wait=False)  # its thread ends with this piece of work


def files(path: Path) -> model_files.ModelFiles:
    """The verified files; waits for them. Raises StartupFailure."""
    if path not in _begun:
        return model_files.find(path)
    return _begun.pop(path).result()
