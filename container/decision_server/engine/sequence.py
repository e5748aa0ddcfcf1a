"""The prompt that a context holds: compute tokens at its end, cut back, copy out, put back.

Chunks are cut at absolute multiples of CHUNK positions, whatever was there before, so that a token is always computed
in company of the same tokens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decision_server.engine.context import CHUNK, MAIN, Context
from decision_server.model_errors import EngineFailure


class Sequence:
    """length: how many tokens are computed. Not for two threads at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.length = 0

    def extend(self, tokens: SequenceOf[int], *, output: bool) -> None:
        """Computes tokens at the end of the sequence. output: whether the last one's logits will be read."""
        values = np.asarray(tokens, dtype=np.int32)
        done = 0
        while done < len(values):
            count = min(CHUNK - self.length % CHUNK, len(values) - done)
            chunk = values[done : done + count]
            done += count
            self._context.decode_main(chunk, self.length, output=output and done == len(values))
            self.length += count

    def logits(self) -> NDArray[np.float32]:
        """Of the last token computed with `output`: float32[n_vocab], a copy."""
        return self._context.last_logits()

    def cut_back(self, length: int) -> bool:
        """Keeps the first `length` tokens. False, and nothing changed, where the model's memory cannot do that."""
        if length == self.length:
            return True
        if length == 0:
            self.clear()
            return True
        if not self._context.cut_main(length):
            return False
        self.length = length
        return True

    def clear(self) -> None:
        self._context.clear()
        self.length = 0

    def copy_out(self) -> NDArray[np.uint8]:
        """All that the model remembers of the sequence: uint8[bytes], in host memory."""
        api, handle = self._context.api, self._context.handle
        size = api.llama_state_seq_get_size(handle, MAIN)
        data = np.empty(size, dtype=np.uint8)
        written = api.llama_state_seq_get_data(handle, _address(data), size, MAIN)
        if written != size or size == 0:
            raise EngineFailure(f"llama_state_seq_get_data wrote {written} of {size} bytes")
        return data

    def put_back(self, data: NDArray[np.uint8], length: int) -> None:
        """Makes the sequence what it was when `data` was copied out at `length` tokens."""
        self.clear()
        read = self._context.api.llama_state_seq_set_data(self._context.handle, _address(data), data.size, MAIN)
        if read != data.size:
            raise EngineFailure(f"llama_state_seq_set_data read {read} of {data.size} bytes")
        self.length = length


def _address(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
