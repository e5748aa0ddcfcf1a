"""A process that computes as a peer would: JSON lines in, JSON lines out. Started by `peer_process.py`.

`--settings default`: llama.cpp's own defaults (n_ctx and threads are given: the default 512 and 4 would not fit the
prompts or the machine). `--settings own`: exactly what this project's engine passes to llama.cpp; that process also
prepares decisions for the whole run.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.plain import PlainContext


class Peer:
    def __init__(self, model: str, n_ctx: int, n_threads: int, settings: str) -> None:
        self._own: Any = None
        if settings == "own":
            from benchmarks.own_side import OwnSide

            self._own = OwnSide(Path(model), n_ctx=n_ctx)
            api, parameters = self._own.api, self._own.parameters
        else:
            api = import_module("llama_cpp.llama_cpp")
            self._log = api.llama_log_callback(lambda _level, _text, _data: None)  # kept: the library calls it
            api.llama_log_set(self._log, ctypes.c_void_p(0))
            api.llama_backend_init()
            parameters = api.llama_context_default_params()
            parameters.n_ctx = n_ctx
            parameters.n_threads = parameters.n_threads_batch = n_threads
        began = time.perf_counter()
        handle = api.llama_model_load_from_file(model.encode(), api.llama_model_default_params())
        if not handle:
            raise RuntimeError(f"llama.cpp could not load {model}")
        self._context = PlainContext(api, handle, parameters)
        self.load_seconds = time.perf_counter() - began
        self._settings = {
            "n_ctx": parameters.n_ctx,
            "n_batch": parameters.n_batch,
            "n_ubatch": parameters.n_ubatch,
            "n_seq_max": parameters.n_seq_max,
            "flash_attn_type": parameters.flash_attn_type,
            "kv_unified": bool(parameters.kv_unified),
            "n_threads": parameters.n_threads,
        }

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"settings": self._settings, "load_seconds": self.load_seconds}
        if self._own is not None:
            facts |= {
                "self_check_seconds": self._own.self_check_seconds,
                "cache_bytes": self._own.cache_bytes,
                "engine": asdict(self._own.facts),
            }
        return facts

    def prepare(self, decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [asdict(self._own.prepare(decision)) for decision in decisions]

    def evaluated(self, questions: list[dict[str, Any]]) -> dict[str, Any]:
        """(a): each question {tokens, shared_lengths, cached, label_ids}; seconds of all, label logits of each."""
        seconds, logits = 0.0, []
        for question in questions:
            tokens, cached = question["tokens"], question["cached"]
            before, ends = (cached,), (len(tokens),)
            if self._own is not None:
                before, ends = (self._own.ends(tokens, question["shared_lengths"], start) for start in (0, cached))
            one, row = self._context.evaluated(tokens, cached, before, ends)
            seconds += one
            logits.append([float(row[token]) for token in question["label_ids"]])
        return {"seconds": seconds, "logits": logits}

    def fresh(self, prompts: list[list[int]]) -> dict[str, Any]:
        """(b)"""
        return {"seconds": sum(self._context.fresh(tokens)[0] for tokens in prompts)}

    def restored(self, prefix: list[int], suffixes: list[list[int]]) -> dict[str, Any]:
        """(c)"""
        return {"seconds": self._context.saved_and_restored(prefix, suffixes)[0]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--n-ctx", type=int, required=True)
    parser.add_argument("--n-threads", type=int, required=True)
    parser.add_argument("--settings", choices=("default", "own"), required=True)
    given = parser.parse_args()
    peer = Peer(given.model, given.n_ctx, given.n_threads, given.settings)
    print(json.dumps(peer.facts()), flush=True)
    for line in sys.stdin:
        call = json.loads(line)
        answer = getattr(peer, call["do"])(**call["with"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
