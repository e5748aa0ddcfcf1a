"""Finds, hashes and loads the model on a thread of its own, while the main thread imports Python modules.

The file is hashed whole before native code sees a byte of it (docs/decisions/0003); both need no Python meanwhile.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from decision_server import memory, model_files
from decision_server.config import Config

if TYPE_CHECKING:
    from decision_server.engine.loading import OpenModel


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Verified files, and the weights that were loaded from them."""

    files: model_files.ModelFiles
    model: OpenModel


_begun: list[Future[Opened]] = []


def begin(config: Config) -> None:
    """Starts the work, once a process. What it raises is raised by `opened`."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="open")
    _begun.append(pool.submit(_open, config))
    pool.shutdown(wait=False)  # its thread ends with this piece of work


def opened() -> Opened:
    """What `begin` was asked for; waits for it. Raises StartupFailure."""
    return _begun[0].result()


def _open(config: Config) -> Opened:
    files = model_files.find(config.model_path, gguf_sha256=config.gguf_sha256)
    # Not before the hash is under way: it is all Python. The package, as the main thread does: where one thread imports
    # a package and another one a part of it, each waits for the other, and Python gives one of them half a module.
    engine = import_module("decision_server.engine")
    n_ctx = files.serving.n_ctx if config.n_ctx is None else config.n_ctx
    model: OpenModel = engine.open_model(files.gguf.path, n_ctx=n_ctx, n_gpu_layers=config.n_gpu_layers)
    if model.gpu_layers == 0:  # elsewhere they lie in the GPU's memory, which is never lent twice
        memory.require_room(n_ctx=model.n_ctx, token_values=files.gguf.token_values)
    return Opened(files=files, model=model)
