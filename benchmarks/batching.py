"""Several questions over one state in one decode: `PYTHONPATH=container python -m benchmarks.batching MODEL`.

8 questions of 75 tokens over 600, each a sequence of its own: one decode a question beside one for all, in a cache with
a stream a sequence and in a unified one; CPU time of both threads, and whether the logits are equal (decisions/0010).
"""

from __future__ import annotations

import os
import sys
import time
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STATE, _QUESTION, _QUESTIONS = 600, 75, 8
_ROUNDS = 4
_Row = tuple[int, int, int, bool]  # token, position, sequence, whether its logits are read


class _Side:
    def __init__(self, api: Any, model: Any, *, unified: bool) -> None:
        self._api = api
        self._n_vocab = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
        parameters = api.llama_context_default_params()
        parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = 1024 * (_QUESTIONS + 1), 1024, 256
        parameters.n_seq_max, parameters.n_outputs_max = _QUESTIONS + 1, 16
        parameters.n_threads = parameters.n_threads_batch = 2
        parameters.flash_attn_type = 0
        parameters.kv_unified = unified
        self._context = api.llama_init_from_model(model, parameters)
        self._memory = api.llama_get_memory(self._context)
        self._batch = api.llama_batch_init(1024, 0, 1)
        tokens = np.random.default_rng(0).integers(0, self._n_vocab, (_QUESTIONS + 1, _STATE)).tolist()
        for start in range(0, _STATE, 256):
            self._decode([(tokens[0][place], place, 0, False) for place in range(start, min(_STATE, start + 256))])
        self._rows: list[list[_Row]] = [
            [(tokens[number][i], _STATE + i, number, i == _QUESTION - 1) for i in range(_QUESTION)]
            for number in range(1, _QUESTIONS + 1)
        ]

    def one_by_one(self) -> tuple[float, list[NDArray[np.float32]]]:
        self._fork()
        logits = []
        began = time.process_time()
        for number, rows in enumerate(self._rows, start=1):
            self._decode(rows)
            logits.append(self._logits(_QUESTION - 1))
            self._api.llama_memory_seq_rm(self._memory, number, -1, -1)
        return time.process_time() - began, logits

    def together(self) -> tuple[float, list[NDArray[np.float32]]]:
        self._fork()
        began = time.process_time()
        self._decode([row for rows in self._rows for row in rows])
        logits = [self._logits((number + 1) * _QUESTION - 1) for number in range(_QUESTIONS)]
        return time.process_time() - began, logits

    def close(self) -> None:
        self._api.llama_batch_free(self._batch)
        self._api.llama_free(self._context)

    def _fork(self) -> None:
        for number in range(1, _QUESTIONS + 1):
            self._api.llama_memory_seq_rm(self._memory, number, -1, -1)
            self._api.llama_memory_seq_cp(self._memory, 0, number, -1, -1)
        self._decode([(5, _STATE, 1, True)])  # copies between streams are made at the next decode: not to be timed
        self._api.llama_memory_seq_rm(self._memory, 1, -1, -1)
        self._api.llama_memory_seq_cp(self._memory, 0, 1, -1, -1)

    def _decode(self, rows: list[_Row]) -> None:
        batch = self._batch
        for place, (token, position, sequence, output) in enumerate(rows):
            batch.token[place], batch.pos[place], batch.logits[place] = token, position, output
            batch.n_seq_id[place], batch.seq_id[place][0] = 1, sequence
        batch.n_tokens = len(rows)
        if (code := self._api.llama_decode(self._context, batch)) != 0:
            raise RuntimeError(f"llama_decode returned {code}")

    def _logits(self, row: int) -> NDArray[np.float32]:
        found = self._api.llama_get_logits_ith(self._context, row)
        return np.array(np.ctypeslib.as_array(found, (self._n_vocab,)), dtype=np.float32)


def main(path: str) -> None:
    os.environ["OMP_WAIT_POLICY"] = "passive"
    from decision_server.engine import library

    api = library.load().api
    model = api.llama_model_load_from_file(path.encode(), api.llama_model_default_params())
    print("| cache | one by one, CPU ms | together | ratio | largest difference |\n|---|---|---|---|---|")
    for unified in (False, True):
        side = _Side(api, model, unified=unified)
        alone, both, difference = [], [], 0.0
        for _ in range(_ROUNDS):
            seconds, expected = side.one_by_one()
            alone.append(1000 * seconds)
            seconds, found = side.together()
            both.append(1000 * seconds)
            pairs = zip(expected, found, strict=True)
            difference = max(difference, *(float(np.abs(one - other).max()) for one, other in pairs))
        side.close()
        ratio = median(both) / median(alone)
        name = "unified" if unified else "a stream each"
        print(f"| {name} | {median(alone):.0f} | {median(both):.0f} | {ratio:.2f} | {difference:.2g} |")
    api.llama_model_free(model)


if __name__ == "__main__":
    main(sys.argv[1])
