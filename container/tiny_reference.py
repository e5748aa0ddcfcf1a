"""What the tiny model must answer, computed without llama.cpp: tokens, and the logits after the last of them.

The architecture `llama` by its published definition, in float64. No part of it is shared with what it is compared with,
but the weights: so a library that lays numbers out otherwise, rotates otherwise, or computes wrongly shows.
"""

from __future__ import annotations

import re

import numpy as np
import tiny_model
from numpy.typing import NDArray

Values = NDArray[np.float64]


def tokens(text: str) -> tuple[int, ...]:
    """Control tokens as a whole; then a space with the t after it; then bytes."""
    ids: list[int] = []
    pair = 256
    for part in re.split("(" + "|".join(map(re.escape, tiny_model.CONTROLS)) + ")", text):
        if part in tiny_model.CONTROLS:
            ids.append(pair + 1 + tiny_model.CONTROLS.index(part))
            continue
        for piece in re.findall(rb" t|.", part.encode(), re.DOTALL):
            ids.append(pair if piece == b" t" else piece[0])
    return tuple(ids)


def logits(ids: tuple[int, ...], *, seed: int = 1) -> Values:
    """ids: at least one. Returns float64[n_vocab]. Keys and values are kept as float16, as llama.cpp keeps them."""
    weights = {name: np.array(values, np.float64) for name, values in tiny_model.weights(seed).items()}

    def apply(name: str, values: Values) -> Values:
        result: Values = values @ weights[f"{name}.weight"].reshape(-1, values.shape[-1]).T
        return result

    def norm(name: str, values: Values) -> Values:
        scale: Values = np.sqrt((values**2).mean(axis=-1, keepdims=True) + tiny_model.NORM_EPSILON)
        result: Values = values / scale * weights[f"{name}.weight"]
        return result

    hidden = weights["token_embd.weight"].reshape(-1, tiny_model.WIDTH)[list(ids)]
    for layer in range(tiny_model.LAYERS):
        block = f"blk.{layer}"
        inner = norm(f"{block}.attn_norm", hidden)
        query, key, value = (_heads(apply(f"{block}.attn_{part}", inner)) for part in ("q", "k", "v"))
        mixed = _attention(_rotated(query), _kept(_rotated(key)), _kept(value))
        hidden = hidden + apply(f"{block}.attn_output", mixed)
        inner = norm(f"{block}.ffn_norm", hidden)
        gate = apply(f"{block}.ffn_gate", inner)
        hidden = hidden + apply(f"{block}.ffn_down", gate / (1 + np.exp(-gate)) * apply(f"{block}.ffn_up", inner))
    return apply("output", norm("output_norm", hidden[-1:])).reshape(-1)


def _heads(values: Values) -> Values:
    """[n, width] → [heads, n, width of a head]."""
    result: Values = values.reshape(len(values), tiny_model.HEADS, -1).transpose(1, 0, 2)
    return result


def _rotated(values: Values) -> Values:
    """Rotary positions: neighbouring pairs of a head's numbers, as files of the architecture `llama` have them."""
    size = values.shape[-1]
    angles: Values = np.arange(values.shape[1])[:, None] * tiny_model.ROPE_BASE ** (-np.arange(0, size, 2) / size)
    turned = (values[..., 0::2] + 1j * values[..., 1::2]) * np.exp(1j * angles)
    result: Values = np.stack([turned.real, turned.imag], axis=-1).reshape(values.shape)
    return result


def _kept(values: Values) -> Values:
    return values.astype(np.float16).astype(np.float64)


def _attention(query: Values, key: Values, value: Values) -> Values:
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
    scores += np.triu(np.full(scores.shape[-2:], -np.inf), k=1)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed: Values = shares / shares.sum(axis=-1, keepdims=True) @ value
    joined: Values = mixed.transpose(1, 0, 2).reshape(query.shape[1], -1)
    return joined
