"""How long the server takes until it answers, beside a plain load of the same model.

Both from the start of a process: this server's to its ready line; the plain one's, Python and binding included, until
model and context are there. `loaded` and `plain_inside` leave out interpreters, their imports, and gunicorn.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.processes import PYTHON, OwnServer, Watched


def measure(model: Path, folder: Path, *, n_ctx: int, rounds: int, seed: int) -> dict[str, Any]:
    """rounds: that count, after one that brings the file into the page cache."""
    drawn = random.Random(seed)
    seconds: dict[str, list[float]] = {"ready": [], "plain": [], "self_check": [], "loaded": [], "plain_inside": []}
    for number in range(rounds + 1):
        for kind in drawn.sample(("ready", "plain", "self_check"), 3):
            if kind == "ready":
                with OwnServer(model, folder / "ready.log", n_ctx=n_ctx) as server:
                    found = {"ready": server.ready_seconds, "loaded": server.loaded_seconds}
            else:
                found = _load(kind, model, folder, n_ctx)
            if number > 0:
                for name, value in found.items():
                    seconds[name].append(value)
    checked = median(seconds["self_check"])
    inside = [
        (loaded - checked) / plain for loaded, plain in zip(seconds["loaded"], seconds["plain_inside"], strict=True)
    ]
    ratios = [(ready - checked) / plain for ready, plain in zip(seconds["ready"], seconds["plain"], strict=True)]
    return {
        "seconds_p50": {name: median(values) for name, values in seconds.items()},
        "rounds": rounds,
        "ready_less_self_check_over_plain": _spread(ratios),
        "loaded_less_self_check_over_plain_inside": _spread(inside),
    }


def _spread(ratios: list[float]) -> dict[str, float]:
    return {"value": median(ratios), "low": min(ratios), "high": max(ratios)}


def _load(kind: str, model: Path, folder: Path, n_ctx: int) -> dict[str, float]:
    mode = "plain" if kind == "plain" else "engine"
    with Watched([PYTHON, "-m", "benchmarks.load", mode, model, str(n_ctx)], folder / f"{mode}.log") as process:
        said = json.loads(process.line())
        taken = time.perf_counter() - process.started
    if kind == "plain":
        return {"plain": taken, "plain_inside": said["seconds"]}
    return {"self_check": said["self_check_seconds"]}
