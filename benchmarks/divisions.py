"""What a decode costs by its rows, and what cutting one costs: `PYTHONPATH=container python -m
benchmarks.divisions MODEL`.

CPU time of both threads, which sleep while they wait, so that other work on the machine counts little. Medians.
"""

from __future__ import annotations

import os
import random
import sys
import time
from statistics import median
from typing import Any

import numpy as np

_ROUNDS = 9
# where the context stands, and the rows of the decodes from there
_WORK: dict[str, tuple[int, tuple[int, ...]]] = {
    "40 + 8": (40, (8,)),
    "40 + 50": (40, (50,)),
    "40 + 64": (40, (64,)),
    "40 + 110": (40, (110,)),
    "40 + 60 + 50": (40, (60, 50)),
    "150": (0, (150,)),
    "640": (0, (256, 256, 128)),
    "600 + 25": (600, (25,)),
    "600 + 50": (600, (50,)),
    "600 + 75": (600, (75,)),
    "600 + 110": (600, (110,)),
}


def main(model: str) -> None:
    os.environ["OMP_WAIT_POLICY"] = "passive"
    from decision_server.engine import library
    from decision_server.engine.context import Context

    api = library.load().api
    handle = api.llama_model_load_from_file(model.encode(), api.llama_model_default_params())
    contexts = {
        flash: Context(api, handle, n_ctx=1024, n_threads=2, on_gpu=False, flash_attention=flash)
        for flash in (False, True)
    }
    found: dict[tuple[str, bool], list[float]] = {}
    for number in range(_ROUNDS):
        for name in random.Random(number).sample(sorted(_WORK), len(_WORK)):
            for flash, context in contexts.items():
                found.setdefault((name, flash), []).append(_seconds(context, *_WORK[name]))
    print("| tokens held + rows of each decode | without flash attention, CPU ms | with |\n|---|---|---|")
    for name in _WORK:
        print(f"| {name} | {1000 * median(found[name, False]):.0f} | {1000 * median(found[name, True]):.0f} |")
    for context in contexts.values():
        context.close()
    api.llama_model_free(handle)


def _seconds(context: Any, start: int, rows: tuple[int, ...]) -> float:
    tokens = np.arange(1024, dtype=np.int32) + 500
    context.clear()
    done = 0
    while done < start:
        size = min(256, start - done)
        context.decode_main(tokens[done : done + size], done, output=False)
        done += size
    began = time.process_time()
    for place, size in enumerate(rows):
        context.decode_main(tokens[done : done + size], done, output=place == len(rows) - 1)
        done += size
    return time.process_time() - began


if __name__ == "__main__":
    main(sys.argv[1])
