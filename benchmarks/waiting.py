"""How long compute threads should spin before they sleep: `PYTHONPATH=container python -m benchmarks.waiting MODEL`.

Each setting in processes of its own, alone and two at once: milliseconds for a decode of 110 tokens, on two threads.
Figures are worth something only where nothing else computes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from statistics import median

from benchmarks.processes import PYTHON

_SPINS = (0, 100, 300, 1000, 3000, 300_000)
_ROWS, _HEAD = 110, 40
_SECONDS, _ROUNDS = 1.5, 3


def main(model: str) -> None:
    found: dict[tuple[int, int], list[float]] = {}
    for at_once in (1, 2):
        for number in range(_ROUNDS):
            for spins in random.Random(number).sample(_SPINS, len(_SPINS)):
                processes = [_start(model, spins) for _ in range(at_once)]
                taken = [json.loads(process.communicate()[0]) for process in processes]
                found.setdefault((spins, at_once), []).append(median(taken))
    print("| spins | alone | two at once, each |\n|---|---|---|")
    for spins in _SPINS:
        alone, both = (found[spins, at_once] for at_once in (1, 2))
        print(f"| {spins} | {min(alone):.0f}–{max(alone):.0f} | {min(both):.0f}–{max(both):.0f} |")


def _start(model: str, spins: int) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment["GOMP_SPINCOUNT"] = str(spins)
    return subprocess.Popen(
        [str(PYTHON), "-m", "benchmarks.waiting", model, "--child"], env=environment, stdout=subprocess.PIPE, text=True
    )


def _decode(model: str) -> None:
    import numpy as np

    from decision_server.engine import library
    from decision_server.engine.context import Context

    api = library.load().api
    handle = api.llama_model_load_from_file(model.encode(), api.llama_model_default_params())
    context = Context(api, handle, n_ctx=512, n_threads=2, on_gpu=False, flash_attention=False)
    tokens = np.arange(_HEAD + _ROWS, dtype=np.int32) + 500
    context.decode_main(tokens[:_HEAD], 0, output=False)
    taken: list[float] = []
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until or len(taken) < 3:
        context.cut_main(_HEAD)
        began = time.perf_counter()
        context.decode_main(tokens[_HEAD:], _HEAD, output=True)
        taken.append(time.perf_counter() - began)
    print(json.dumps(1000 * median(taken)))
    context.close()
    api.llama_model_free(handle)


if __name__ == "__main__":
    if sys.argv[2:] == ["--child"]:
        _decode(sys.argv[1])
    else:
        main(sys.argv[1])
