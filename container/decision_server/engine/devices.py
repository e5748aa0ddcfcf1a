"""What computes: whether a GPU backend is really there, and how many of a model's layers go to it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from decision_server.model_errors import StartupFailure

_GPU_TYPES = (1, 2)  # ggml_backend_dev_type: a GPU with memory of its own, one that shares the host's


@dataclass(frozen=True, kw_only=True)
class Device:
    name: str
    description: str


def gpus(api: Any) -> tuple[Device, ...]:
    """GPU devices of the backends that are loaded."""
    lib = api._lib  # libllama's handle also finds the symbols of the libggml files that it is linked to
    count, get = lib["ggml_backend_dev_count"], lib["ggml_backend_dev_get"]
    count.argtypes, count.restype = [], ctypes.c_size_t
    get.argtypes, get.restype = [ctypes.c_size_t], ctypes.c_void_p
    kind, name, description = (lib[f"ggml_backend_dev_{what}"] for what in ("type", "name", "description"))
    for function, result in ((kind, ctypes.c_int), (name, ctypes.c_char_p), (description, ctypes.c_char_p)):
        function.argtypes, function.restype = [ctypes.c_void_p], result
    devices = [get(place) for place in range(count())]
    return tuple(
        Device(name=name(device).decode(), description=description(device).decode())
        for device in devices
        if kind(device) in _GPU_TYPES
    )


def check(wanted_layers: int, found: tuple[Device, ...]) -> None:
    """Raises StartupFailure where layers are wanted on a GPU and there is none: never computed elsewhere in silence."""
    if wanted_layers != 0 and not found:
        raise StartupFailure(
            f"n_gpu_layers: {wanted_layers} given, and llama.cpp has no GPU device here: its library has no GPU "
            "backend, or the backend finds no GPU or no driver; set DECISION_N_GPU_LAYERS=0 to compute on the CPU"
        )


def layers_on_gpu(api: Any, model: Any, wanted: int) -> int:
    """How many layers llama.cpp moves: all of them and the output for −1, else as many as there are at most."""
    everything = int(api.llama_model_n_layer(model)) + 1
    return everything if wanted < 0 else min(wanted, everything)
