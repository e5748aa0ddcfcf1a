"""The prompt that a context holds: compute tokens at its end, cut back, copy out, put back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decision_server.engine.context import MAIN, Context
from decision_server.engine.layout import Computed
from decision_server.engine.prefixes import Kept
from decision_server.model_errors import EngineFailure


class Sequence:
    """computed: what the context really holds. After an exception it is empty, and the context is not to be trusted.

    Not for two threads at once.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.computed = Computed()

    def extend(self, tokens: tuple[int, ...], end: int) -> None:
        """Computes tokens[len(computed):end] in one decode; the last one's logits can be read if they end the prompt.

        tokens: a whole prompt that begins with what is computed.
        """
        held, self.computed = self.computed, Computed()
        start = len(held.tokens)
        rows = np.asarray(tokens[start:end], dtype=np.int32)
        self._context.decode_main(rows, start, output=end == len(tokens))
        self.computed = Computed(tokens=tokens[:end], ends=(*held.ends, end))

    def logits(self) -> NDArray[np.float32]:
        """Of the last token computed with an output: float32[n_vocab], a copy."""
        return self._context.last_logits()

    def cut_back(self, length: int) -> bool:
        """Keeps the first `length` tokens. False, and nothing changed, where the model's memory cannot do that."""
        if length == 0:
            self.clear()
        elif length < len(self.computed.tokens):
            if not self._context.cut_main(length):
                return False
            self.computed = self.computed.upto(length)
        return True

    def clear(self) -> None:
        self.computed = Computed()
        self._context.clear()

    def purge(self) -> None:
        """Clears, and leaves nothing of it in the model's memory."""
        self.computed = Computed()
        self._context.purge()

    def copy_out(self) -> Kept:
        """All that the model remembers of the sequence, in host memory."""
        api, handle = self._context.api, self._context.handle
        size = api.llama_state_seq_get_size(handle, MAIN)
        data = np.empty(size, dtype=np.uint8)
        written = api.llama_state_seq_get_data(handle, _address(data), size, MAIN)
        if written != size or size == 0:
            raise EngineFailure(f"llama_state_seq_get_data wrote {written} of {size} bytes")
        return Kept(computed=self.computed, memory=data)

    def put_back(self, kept: Kept) -> None:
        """Makes the sequence what it was when it was copied out."""
        self.clear()
        size = kept.memory.size
        read = self._context.api.llama_state_seq_set_data(self._context.handle, _address(kept.memory), size, MAIN)
        if read != size:
            raise EngineFailure(f"llama_state_seq_set_data read {read} of {size} bytes")
        self.computed = kept.computed


def _address(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
