"""The defaults a model is served with. They stand in the declaration and, unchanged, in the manifest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .fields import Fields

READOUTS = ("letters", "likelihood", "letters-rotated")
MAX_CONTEXT = 1 << 24
"""Tokens. Half as much again as the longest that any model states (10 Mi); above it a header lies."""

SERVING_KEYS = ("readout", "prompt_version", "n_ctx")
_PROMPT_VERSION = re.compile(r"[a-z][a-z0-9-]{0,62}-v[0-9]{1,3}")


@dataclass(frozen=True, kw_only=True)
class Serving:
    readout: str
    prompt_version: str
    n_ctx: int


def read_serving(parent: Fields) -> Serving:
    fields = parent.table("serving", SERVING_KEYS)
    return Serving(
        readout=fields.one_of("readout", READOUTS),
        prompt_version=fields.text("prompt_version", _PROMPT_VERSION, "a prompt version such as direct-options-v1"),
        n_ctx=fields.integer("n_ctx", 256, MAX_CONTEXT),
    )
