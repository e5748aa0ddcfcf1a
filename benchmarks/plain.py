"""llama.cpp used plainly: one context, `llama_decode`, logits. What the peers of a comparison are made of.

Written against the binding alone, not against this project's engine, so that a fault there cannot flatter both sides.
Times are taken here, around the native calls and the reading of the logits, and nothing else.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = Sequence[int]


class PlainContext:
    """One sequence. `parameters`: a llama_context_params; n_batch tokens a call at most."""

    def __init__(self, api: Any, model: Any, parameters: Any) -> None:
        self._api = api
        self._context = api.llama_init_from_model(model, parameters)
        if not self._context:
            raise RuntimeError("llama_init_from_model returned nothing")
        self._memory = api.llama_get_memory(self._context)
        self._n_vocab = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
        self._size = int(api.llama_n_batch(self._context))
        self._batch = api.llama_batch_init(self._size, 0, 1)
        self._token = np.ctypeslib.as_array(self._batch.token, (self._size,))
        self._position = np.ctypeslib.as_array(self._batch.pos, (self._size,))
        self._output = np.ctypeslib.as_array(self._batch.logits, (self._size,))
        for place in range(self._size):
            self._batch.n_seq_id[place] = 1
            self._batch.seq_id[place][0] = 0
        self._held: tuple[int, ...] = ()
        self._saved: tuple[tuple[int, ...], NDArray[np.uint8]] | None = None

    # (a): the tokens that were really evaluated, and nothing else, is timed

    def evaluated(
        self, tokens: Tokens, cached: int, before: Sequence[int], ends: Sequence[int]
    ) -> tuple[float, NDArray[np.float32]]:
        """Seconds of decoding tokens[cached:] in segments that end at `ends`, and the last logits.

        What brings the context to tokens[:cached] is not timed; where it must be computed, segments end at `before`.
        """
        self._bring_to(tuple(tokens[:cached]), tuple(end for end in before if end <= cached))
        began = time.perf_counter()
        for end in ends:
            self._decode(tokens[len(self._held) : end])
        logits = self._logits()
        return time.perf_counter() - began, logits

    # (b): every decision from the start

    def fresh(self, tokens: Tokens) -> tuple[float, NDArray[np.float32]]:
        began = time.perf_counter()
        self._clear()
        self._decode(tokens)
        logits = self._logits()
        return time.perf_counter() - began, logits

    # (c): the state once, saved; restored for each question

    def saved_and_restored(self, prefix: Tokens, suffixes: Sequence[Tokens]) -> tuple[float, NDArray[np.float32]]:
        began = time.perf_counter()
        self._clear()
        self._decode(prefix)
        saved = self._save()
        for suffix in suffixes:
            self._restore(saved, tuple(prefix))
            self._decode(suffix)
            logits = self._logits()
        return time.perf_counter() - began, logits

    def close(self) -> None:
        self._api.llama_batch_free(self._batch)
        self._api.llama_free(self._context)

    def _bring_to(self, prefix: tuple[int, ...], ends: Sequence[int]) -> None:
        """In place where the model can be cut back; else from a copy; else computed, in segments that end at `ends`."""
        if self._held == prefix:
            return
        if not prefix:
            self._clear()
        elif self._held[: len(prefix)] == prefix and self._cut_back(len(prefix)):
            self._held = prefix
        elif self._saved is not None and self._saved[0] == prefix:
            self._restore(self._saved[1], prefix)
        else:
            self._clear()
            for end in sorted({*ends, len(prefix)}):
                self._decode(prefix[len(self._held) : end])
            self._saved = (prefix, self._save())

    def _decode(self, tokens: Tokens) -> None:
        for start in range(0, len(tokens), self._size):
            part = tokens[start : start + self._size]
            count, position = len(part), len(self._held)
            self._token[:count] = part
            self._position[:count] = np.arange(position, position + count)
            self._output[:count] = 0
            self._output[count - 1] = start + count == len(tokens)
            self._batch.n_tokens = count
            if (code := self._api.llama_decode(self._context, self._batch)) != 0:
                raise RuntimeError(f"llama_decode returned {code} with {count} tokens at {position}")
            self._held += tuple(part)

    def _logits(self) -> NDArray[np.float32]:
        row = self._api.llama_get_logits_ith(self._context, -1)
        return np.array(np.ctypeslib.as_array(row, (self._n_vocab,)), dtype=np.float32)

    def _clear(self) -> None:
        self._api.llama_memory_clear(self._memory, False)
        self._held = ()

    def _cut_back(self, length: int) -> bool:
        return bool(self._api.llama_memory_seq_rm(self._memory, 0, length, -1))

    def _save(self) -> NDArray[np.uint8]:
        data = np.empty(self._api.llama_state_seq_get_size(self._context, 0), dtype=np.uint8)
        if self._api.llama_state_seq_get_data(self._context, _address(data), data.size, 0) != data.size:
            raise RuntimeError("llama_state_seq_get_data wrote less than it announced")
        return data

    def _restore(self, data: NDArray[np.uint8], tokens: tuple[int, ...]) -> None:
        self._clear()
        if self._api.llama_state_seq_set_data(self._context, _address(data), data.size, 0) != data.size:
            raise RuntimeError("llama_state_seq_set_data read less than it was given")
        self._held = tokens


def _address(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
