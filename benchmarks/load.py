"""One load in a process of its own, said in one JSON line: `plain` as the binding alone does it, or `engine` as the
server's engine does it, to see how long its self-check takes."""

from __future__ import annotations

import ctypes
import json
import sys
import time
from pathlib import Path


def plain(model: str, n_ctx: int) -> dict[str, float]:
    """seconds: of model and context alone."""
    import llama_cpp.llama_cpp as api

    quiet = api.llama_log_callback(lambda _level, _text, _data: None)
    api.llama_log_set(quiet, ctypes.c_void_p(0))
    api.llama_backend_init()
    began = time.perf_counter()
    handle = api.llama_model_load_from_file(model.encode(), api.llama_model_default_params())
    parameters = api.llama_context_default_params()
    parameters.n_ctx = n_ctx
    if not handle or not api.llama_init_from_model(handle, parameters):
        raise RuntimeError(f"llama.cpp could not load {model}")
    return {"seconds": time.perf_counter() - began}


def engine(model: str, n_ctx: int) -> dict[str, float]:
    from benchmarks.own_side import OwnSide

    return {"self_check_seconds": OwnSide(Path(model), n_ctx=n_ctx).self_check_seconds}


if __name__ == "__main__":
    kind, model, n_ctx = sys.argv[1:]
    print(json.dumps({"plain": plain, "engine": engine}[kind](model, int(n_ctx))), flush=True)
