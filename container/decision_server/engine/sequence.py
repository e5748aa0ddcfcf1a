"""One llama.cpp context that holds one sequence: compute tokens, cut back, copy out, put back. Every call is checked.

Chunks are cut at absolute multiples of CHUNK positions, whatever was there before, so that a token is always computed
in company of the same tokens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decision_server.model_errors import EngineFailure, StartupFailure

CHUNK = 256


class Sequence:
    """length: how many tokens are computed. Not for two threads at once."""

    def __init__(
        self, api: Any, model: Any, *, n_ctx: int, n_threads: int, on_gpu: bool, flash_attention: bool
    ) -> None:
        self._api = api
        parameters = api.llama_context_default_params()
        parameters.n_ctx = n_ctx
        parameters.n_batch = parameters.n_ubatch = CHUNK
        parameters.n_seq_max = 1
        parameters.n_outputs_max = 1  # one row of logits: with 256 rows a large vocabulary takes 250 MB of scratch
        parameters.n_threads = parameters.n_threads_batch = n_threads
        parameters.flash_attn_type = 1 if flash_attention else 0
        parameters.kv_unified = False
        parameters.offload_kqv = parameters.op_offload = on_gpu
        self._context = api.llama_init_from_model(model, parameters)
        if not self._context:
            raise StartupFailure(f"llama.cpp could not make a context of n_ctx {n_ctx}; is there enough memory for it?")
        room = api.llama_n_ctx_seq(self._context)
        if room < n_ctx:
            api.llama_free(self._context)
            raise StartupFailure(f"llama.cpp gave a context of {room} tokens; n_ctx {n_ctx} was asked for")
        self._memory = api.llama_get_memory(self._context)
        self._n_vocab = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
        self._batch = api.llama_batch_init(CHUNK, 0, 1)
        self._token = np.ctypeslib.as_array(self._batch.token, (CHUNK,))
        self._position = np.ctypeslib.as_array(self._batch.pos, (CHUNK,))
        self._output = np.ctypeslib.as_array(self._batch.logits, (CHUNK,))
        for place in range(CHUNK):
            self._batch.n_seq_id[place] = 1
            self._batch.seq_id[place][0] = 0
        self.length = 0

    def extend(self, tokens: SequenceOf[int], *, output: bool) -> None:
        """Computes tokens at the end of the sequence. output: whether the last one's logits will be read."""
        values = np.asarray(tokens, dtype=np.int32)
        done = 0
        while done < len(values):
            count = min(CHUNK - self.length % CHUNK, len(values) - done)
            self._token[:count] = values[done : done + count]
            self._position[:count] = np.arange(self.length, self.length + count)
            self._output[:count] = 0
            done += count
            self._output[count - 1] = output and done == len(values)
            self._batch.n_tokens = count
            code = self._api.llama_decode(self._context, self._batch)
            if code != 0:
                raise EngineFailure(f"llama_decode returned {code} at position {self.length} with {count} tokens")
            self.length += count

    def logits(self) -> NDArray[np.float32]:
        """Of the last token computed with `output`: float32[n_vocab], a copy."""
        row = self._api.llama_get_logits_ith(self._context, -1)
        if not row:
            raise EngineFailure("llama_get_logits_ith returned no logits")
        return np.array(np.ctypeslib.as_array(row, (self._n_vocab,)), dtype=np.float32)

    def cut_back(self, length: int) -> bool:
        """Keeps the first `length` tokens. False, and nothing changed, where the model's memory cannot do that."""
        if length == self.length:
            return True
        if length == 0:
            self.clear()
            return True
        if not self._api.llama_memory_seq_rm(self._memory, 0, length, -1):
            return False
        self.length = length
        return True

    def clear(self) -> None:
        self._api.llama_memory_clear(self._memory, False)
        self.length = 0

    def copy_out(self) -> NDArray[np.uint8]:
        """All that the model remembers of the sequence: uint8[bytes], in host memory."""
        size = self._api.llama_state_seq_get_size(self._context, 0)
        data = np.empty(size, dtype=np.uint8)
        written = self._api.llama_state_seq_get_data(self._context, _address(data), size, 0)
        if written != size or size == 0:
            raise EngineFailure(f"llama_state_seq_get_data wrote {written} of {size} bytes")
        return data

    def put_back(self, data: NDArray[np.uint8], length: int) -> None:
        """Makes the sequence what it was when `data` was copied out at `length` tokens."""
        self.clear()
        read = self._api.llama_state_seq_set_data(self._context, _address(data), data.size, 0)
        if read != data.size:
            raise EngineFailure(f"llama_state_seq_set_data read {read} of {data.size} bytes")
        self.length = length

    def close(self) -> None:
        if self._context:
            self._api.llama_batch_free(self._batch)
            self._api.llama_free(self._context)
            self._context = None


def _address(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
