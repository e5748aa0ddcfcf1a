"""One llama.cpp context and the batch it computes from: rows in, logits out. Every call is checked.

A row is a token at a position of one sequence. Sequence MAIN holds a prompt; the branches from it are short-lived. All
share one cache (kv_unified): branching marks the prompt's cells, it copies none, and a single sequence computes in it
exactly as in a cache of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from decision_server.engine.layout import CHUNK
from decision_server.model_errors import EngineFailure, StartupFailure

MAIN = 0
# A recurrent layer's state is one block a sequence, reserved at the start: 50 MB each in a hybrid of 4B parameters.
_RECURRENT_BRANCHES = 4
_OUTPUT_BYTES = 24 << 20  # room for rows of logits; llama.cpp needs it twice
_MOST_OUTPUTS = 96  # reading the weights once for 96 rows is as good as for more


class Context:
    """n_branches: sequences 1 to n_branches may be used beside MAIN. n_outputs: rows of logits a decode may have.

    Not for two threads at once.
    """

    def __init__(
        self, api: Any, model: Any, *, n_ctx: int, n_threads: int, on_gpu: bool, flash_attention: bool
    ) -> None:
        self.api = api
        self.n_vocab: int = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
        self.n_outputs = max(8, min(_MOST_OUTPUTS, _OUTPUT_BYTES // (4 * self.n_vocab) // 8 * 8))
        recurrent = api.llama_model_is_recurrent(model) or api.llama_model_is_hybrid(model)
        # Elsewhere a branch costs nothing, but llama.cpp reserves a row of logits for each sequence.
        self.n_branches = _RECURRENT_BRANCHES if recurrent else self.n_outputs - 1
        parameters = api.llama_context_default_params()
        parameters.n_ctx = n_ctx + CHUNK  # branches are computed beside a prompt that may fill n_ctx
        parameters.n_batch = parameters.n_ubatch = CHUNK
        parameters.n_seq_max = 1 + self.n_branches
        parameters.n_outputs_max = self.n_outputs
        parameters.n_threads = parameters.n_threads_batch = n_threads
        parameters.flash_attn_type = 1 if flash_attention else 0
        parameters.kv_unified = True
        parameters.offload_kqv = parameters.op_offload = on_gpu
        self.handle = api.llama_init_from_model(model, parameters)
        if not self.handle:
            raise StartupFailure(f"llama.cpp could not make a context of n_ctx {n_ctx}; is there enough memory for it?")
        room = api.llama_n_ctx_seq(self.handle)
        if room < n_ctx + CHUNK:
            api.llama_free(self.handle)
            raise StartupFailure(f"llama.cpp gave a context of {room} tokens; n_ctx {n_ctx} was asked for")
        self._memory = api.llama_get_memory(self.handle)
        self._batch = api.llama_batch_init(CHUNK, 0, 1)
        self._token = np.ctypeslib.as_array(self._batch.token, (CHUNK,))
        self._position = np.ctypeslib.as_array(self._batch.pos, (CHUNK,))
        self._output = np.ctypeslib.as_array(self._batch.logits, (CHUNK,))
        # seq_id is an array of pointers to one id each
        self._sequence = [np.ctypeslib.as_array(self._batch.seq_id[place], (1,)) for place in range(CHUNK)]
        np.ctypeslib.as_array(self._batch.n_seq_id, (CHUNK,))[:] = 1
        for cell in self._sequence:
            cell[0] = MAIN

    def decode_main(self, tokens: NDArray[np.int32], position: int, *, output: bool) -> None:
        """tokens: at most CHUNK, from `position` on in MAIN. output: whether the last one's logits will be read."""
        count = len(tokens)
        self._token[:count] = tokens
        self._position[:count] = np.arange(position, position + count)
        self._output[:count] = 0
        self._output[count - 1] = output
        self._decode(count)

    def decode_rows(
        self, tokens: NDArray[np.int32], positions: NDArray[np.int32], sequences: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """At most n_outputs rows. Returns float32[rows, n_vocab], the library's own: read before the next call."""
        count = len(tokens)
        self._token[:count] = tokens
        self._position[:count] = positions
        self._output[:count] = 1
        for cell, sequence in zip(self._sequence, sequences, strict=False):
            cell[0] = sequence
        try:
            self._decode(count)
        finally:
            for cell in self._sequence[:count]:
                cell[0] = MAIN
        rows = self.api.llama_get_logits(self.handle)
        if not rows:
            raise EngineFailure("llama_get_logits returned no logits")
        return np.ctypeslib.as_array(rows, (count, self.n_vocab))

    def last_logits(self) -> NDArray[np.float32]:
        """Of the last row computed with an output: float32[n_vocab], a copy."""
        row = self.api.llama_get_logits_ith(self.handle, -1)
        if not row:
            raise EngineFailure("llama_get_logits_ith returned no logits")
        return np.array(np.ctypeslib.as_array(row, (self.n_vocab,)), dtype=np.float32)

    def branch(self, sequence: int) -> None:
        """Lets `sequence` begin with all that MAIN holds."""
        self.api.llama_memory_seq_cp(self._memory, MAIN, sequence, -1, -1)

    def remove(self, sequence: int) -> None:
        """Forgets a whole sequence."""
        if not self.api.llama_memory_seq_rm(self._memory, sequence, -1, -1):
            raise EngineFailure(f"llama_memory_seq_rm could not remove sequence {sequence}")

    def cut_main(self, length: int) -> bool:
        """Keeps the first `length` ≥ 1 positions of MAIN; False, and nothing changed, where the memory cannot."""
        return bool(self.api.llama_memory_seq_rm(self._memory, MAIN, length, -1))

    def clear(self) -> None:
        self.api.llama_memory_clear(self._memory, False)

    def purge(self) -> None:
        """Clears, and overwrites what was there. Attention runs over cells past the tokens too, with weight 0; a number
        there that is not finite would make every sum with it not finite.
        """
        self.api.llama_memory_clear(self._memory, True)

    def close(self) -> None:
        if self.handle:
            self.api.llama_batch_free(self._batch)
            self.api.llama_free(self.handle)
            self.handle = None

    def _decode(self, count: int) -> None:
        self._batch.n_tokens = count
        code = self.api.llama_decode(self.handle, self._batch)
        if code != 0:
            raise EngineFailure(f"llama_decode returned {code} at position {self._position[0]} with {count} tokens")
