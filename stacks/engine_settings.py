"""Reads the engine's settings and turns them into the container's variables (docs/interfaces.md section 2).

A setting that is left out is left to the container and the model's manifest. Model path, host and port are SageMaker's.
"""

from __future__ import annotations

from collections.abc import Mapping

from stacks.instance_types import Processor
from stacks.setting_fields import Fields

_NUMBERS: Mapping[str, tuple[int, int | None]] = {
    "deadline_seconds": (1, 59),  # InvokeEndpoint gives up after 60
    "max_body_bytes": (1024, 26214400),
    "max_decisions": (1, 1024),
    "n_ctx": (256, None),
    "n_gpu_layers": (-1, None),
    "n_threads": (1, 512),
    "prefix_streams": (0, 64),
    "queue_size": (1, 1024),
    "read_timeout_seconds": (1, 59),
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "log_level": ("debug", "info", "warning", "error"),
    "readout": ("letters", "likelihood", "letters-rotated"),
}
_TEXTS = ("prompt_version",)


def engine_variables(engine: Fields, *, target: Processor) -> tuple[tuple[str, str], ...]:
    """DECISION_* variables by name, as SageMaker takes them: all strings."""
    engine.closed(*_NUMBERS, *_WORDS, *_TEXTS)
    values = {key: str(engine.number(key, *limits)) for key, limits in _NUMBERS.items() if engine.has(key)}
    values |= {key: engine.word(key, allowed) for key, allowed in _WORDS.items() if engine.has(key)}
    values |= {key: engine.text(key) for key in _TEXTS if engine.has(key)}
    layers = values.get("n_gpu_layers", "0")
    if target == "cpu" and layers != "0":
        raise engine.error("n_gpu_layers", "container.target is 'cpu', which has no GPU; 0 allowed")
    if target == "cuda" and layers == "0":
        raise engine.error("n_gpu_layers", "container.target is 'cuda' and no layer would run on it. Remedy: -1 (all)")
    return tuple((f"DECISION_{key.upper()}", values[key]) for key in sorted(values))
