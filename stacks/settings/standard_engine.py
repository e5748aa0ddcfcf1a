"""Reads the engine's settings of the standard path and turns them into variables of AWS's llama.cpp container.

Its entry point makes `--foo-bar value` of `SM_LLAMA_CPP_FOO_BAR=value` and gives it to llama-server. The list is closed
all the same: a flag that llama-server does not know ends its start, minutes after the deployment began.
"""

from __future__ import annotations

from collections.abc import Mapping

from stacks.instance_types import Processor
from stacks.settings.engine import MOST_INT32, check_layers
from stacks.settings.fields import Fields

_NUMBERS: Mapping[str, tuple[int, int]] = {
    "batch_size": (32, 65536),
    "ctx_size": (256, 1048576),
    "n_gpu_layers": (-1, MOST_INT32),
    "n_predict": (-1, 1048576),
    "parallel": (1, 256),
    "reasoning_budget": (-1, MOST_INT32),
    "threads": (1, 512),
    "threads_batch": (1, 512),
    "ubatch_size": (32, 65536),
}
_CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
# llama-server takes these without flash attention, too, for the context's values.
_NOT_QUANTISED = ("f32", "f16", "bf16")
_DEFAULT_BATCH = 2048  # of llama-server
_WORDS: Mapping[str, tuple[str, ...]] = {
    "cache_type_k": _CACHE_TYPES,
    "cache_type_v": _CACHE_TYPES,
    "flash_attn": ("on", "off", "auto"),
}


def standard_engine_variables(
    engine: Fields, *, target: Processor, defaults: Mapping[str, int]
) -> tuple[tuple[str, str], ...]:
    """SM_LLAMA_CPP_* variables by name, all strings. defaults: by setting."""
    engine.closed(*_NUMBERS, *_WORDS)
    values = {key: str(value) for key, value in defaults.items()}
    values |= {key: str(engine.number(key, *limits)) for key, limits in _NUMBERS.items() if engine.has(key)}
    values |= {key: engine.word(key, allowed) for key, allowed in _WORDS.items() if engine.has(key)}
    batch = int(values.get("batch_size", _DEFAULT_BATCH))
    if int(values.get("ubatch_size", 0)) > batch:
        raise engine.error("ubatch_size", f"no more than batch_size is computed at once; {batch} at most allowed")
    if values.get("flash_attn") == "off" and values.get("cache_type_v", "f16") not in _NOT_QUANTISED:
        raise engine.error(
            "cache_type_v",
            f"with flash_attn 'off' one of {', '.join(_NOT_QUANTISED)} needed: llama-server would not start",
        )
    check_layers(engine, target=target)
    return tuple((f"SM_LLAMA_CPP_{key.upper()}", values[key]) for key in sorted(values))
