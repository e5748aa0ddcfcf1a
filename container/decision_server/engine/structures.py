"""Whether the loaded library lays its parameter structures out as the binding does, told by the defaults it reports."""

from __future__ import annotations

import ctypes
from typing import Any

# What the library that belongs to the pinned binding answers; spread over the whole of each structure.
_CONTEXT_DEFAULTS = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_outputs_max_per_seq": 1,
    "rope_scaling_type": -1,
    "pooling_type": -1,
    "attention_type": -1,
    "flash_attn_type": -1,
    "yarn_ext_factor": -1.0,
    "yarn_beta_slow": -1.0,
    "type_k": 1,
    "type_v": 1,
    "embeddings": False,
    "offload_kqv": True,
    "no_perf": True,
    "op_offload": True,
    "swa_full": True,
    "kv_unified": False,
    "n_samplers": 0,
}
_MODEL_DEFAULTS = {
    "n_gpu_layers": -1,
    "split_mode": 1,
    "load_mode": -1,
    "lazy_mode": 1,
    "main_gpu": 0,
    "vocab_only": False,
    "check_tensors": False,
    "use_extra_bufts": True,
    "no_host": False,
    "no_alloc": False,
    "load_mtp": False,
}


def difference(api: Any) -> str | None:
    """The first field that is not what the binding's own library reports; None if all are."""
    for function, name, expected in (
        ("llama_context_default_params", "llama_context_params", _CONTEXT_DEFAULTS),
        ("llama_model_default_params", "llama_model_params", _MODEL_DEFAULTS),
    ):
        value = _defaults(api, function, getattr(api, name))
        for field, wanted in expected.items():
            found = getattr(value, field)
            if found != wanted:
                return f"{name}.{field} is {found!r} by default; {wanted!r} expected"
    return None


def _defaults(api: Any, function: str, kind: Any) -> Any:
    class Padded(ctypes.Structure):
        """Room behind the binding's structure: a library whose own is longer must not write past it."""

        _fields_ = (("value", kind), ("room", ctypes.c_uint8 * 4096))

    get = api._lib[function]  # by item: a function object of our own, the binding's keeps its types
    get.argtypes = []
    get.restype = Padded
    return get().value
