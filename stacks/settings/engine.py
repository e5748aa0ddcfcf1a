"""Reads the engine's settings and turns them into the decision container's variables (docs/interfaces.md section 2).

A setting that is left out is left to the container and the model's manifest, but for what goes with the default
instances. Model path, host and port are SageMaker's. There is none for the API key: SageMaker lets callers in by IAM
and hands no Authorization header on, and a secret has no place in a template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stacks.instance_types import Processor
from stacks.settings.fields import Fields

# What the container does where a setting is left out, as far as its surroundings depend on it.
MAX_BODY_BYTES = 1048576
DEADLINE_SECONDS = 50
QUEUE_SIZE = 64
MOST_INT32 = 2**31 - 1  # llama.cpp's int
_NUMBERS: Mapping[str, tuple[int, int]] = {
    "bulk_deadline_seconds": (1, 86400),
    "bulk_max_bytes": (1024, 1 << 30),
    "chat_n_ctx": (0, 1048576),
    "chat_slots": (1, 16),
    "deadline_seconds": (1, 59),  # InvokeEndpoint gives up after 60
    "max_body_bytes": (1024, 26214400),
    "max_decisions": (1, 1024),
    "n_ctx": (256, 1048576),
    "n_gpu_layers": (-1, MOST_INT32),
    "n_threads": (1, 512),
    "prefix_streams": (0, 64),
    "queue_size": (1, 1024),
    "read_timeout_seconds": (1, 60),
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "log_level": ("debug", "info", "warning", "error"),
    "readout": ("letters", "likelihood", "letters-rotated"),
    "prompt_version": (
        "direct-options-v1", "direct-options-v1-wide", "criterion-first-v1", "criterion-first-v1-wide", "likelihood-v1",
    ),
}  # fmt: skip
_ALIASES = "model_aliases"
_ALIAS = re.compile(r"[^,\s](?:[^,]{0,58}[^,\s])?")
_MOST_ALIASES = 16  # together within the 1,024 characters of a variable of a SageMaker Model
# The names stand here again, because synth runs without the container's code; a test holds the two lists together.
_LIKELIHOOD = ("likelihood", "likelihood-v1")
# An asynchronous caller waits an hour at most.
_ASYNCHRONOUS_DEADLINE = (1, 3600)


def engine_variables(
    engine: Fields, *, target: Processor, defaults: Mapping[str, int], asynchronous: bool
) -> tuple[tuple[str, str], ...]:
    """DECISION_* variables by name, as SageMaker takes them: all strings. defaults: by setting."""
    engine.closed(*_NUMBERS, *_WORDS, _ALIASES)
    limits = {**_NUMBERS, "deadline_seconds": _ASYNCHRONOUS_DEADLINE} if asynchronous else _NUMBERS
    values = {key: str(value) for key, value in defaults.items()}
    values |= {key: str(engine.number(key, *limits[key])) for key in limits if engine.has(key)}
    values |= {key: engine.word(key, allowed) for key, allowed in _WORDS.items() if engine.has(key)}
    if engine.has(_ALIASES):
        values[_ALIASES] = ",".join(_aliases(engine))
    if {"readout", "prompt_version"} <= values.keys():
        _check_pair(engine, readout=values["readout"], prompt_version=values["prompt_version"])
    if engine.has("chat_slots") and values.get("chat_n_ctx") == "0":
        raise engine.error("chat_slots", "chat_n_ctx is 0, so there are no chats. Remedy: leave one of the two out")
    check_layers(engine, target=target)
    return tuple((f"DECISION_{key.upper()}", values[key]) for key in sorted(values))


def _aliases(engine: Fields) -> tuple[str, ...]:
    names = engine.texts(_ALIASES)
    if not 1 <= len(names) <= _MOST_ALIASES or len(set(names)) != len(names):
        raise engine.error(_ALIASES, f"1 to {_MOST_ALIASES} different names needed")
    for index, each in enumerate(names):
        if not _ALIAS.fullmatch(each) or not each.isprintable():
            raise engine.error(
                _ALIASES, "1 to 60 printable characters needed, no comma in them, no space around", index=index
            )
    return names


def check_layers(engine: Fields, *, target: Processor) -> None:
    """Layers go on a GPU, and a GPU that none goes on is paid for in vain."""
    if not engine.has("n_gpu_layers"):
        return
    layers = engine.number("n_gpu_layers", *_NUMBERS["n_gpu_layers"])
    if target == "cpu" and layers != 0:
        raise engine.error("n_gpu_layers", "container.target is 'cpu', which has no GPU; 0 allowed")
    if target == "cuda" and layers == 0:
        raise engine.error("n_gpu_layers", "container.target is 'cuda' and no layer would run on it. Remedy: -1 (all)")


def _check_pair(engine: Fields, *, readout: str, prompt_version: str) -> None:
    """The likelihood readout and its prompt version go with each other only."""
    if (readout == _LIKELIHOOD[0]) != (prompt_version == _LIKELIHOOD[1]):
        fitting = [each for each in _WORDS["prompt_version"] if (each == _LIKELIHOOD[1]) == (readout == _LIKELIHOOD[0])]
        raise engine.error("prompt_version", f"with the readout {readout!r} one of {', '.join(fitting)} needed")
