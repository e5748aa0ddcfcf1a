"""The llama.cpp context of chats: a few sequences, each with a cache of its own, computed one at a time.

Nothing is shared with the context of decisions but the weights, so no bit of a decision depends on what is said here.
The sequences do not share a cache either: what one chat gets does not depend on the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from decision_server.engine.vocabulary import Vocabulary
from decision_server.generation import ChatTask, Generation, Sampling, Token
from decision_server.model_errors import EngineFailure, StartupFailure
from decision_server.scoring import NotFinite

# Rows of a prompt computed in one step: what a decision may have to wait for. So few cost little more than one row
# does, because either reads all weights once.
PIECE = 8
_FLASH_ATTENTION_AUTO = -1


class ChatContext:
    """Implements `generation.ChatEngine`. n_ctx: tokens of one chat, prompt and answer. Not for two threads at once."""

    def __init__(
        self, api: Any, model: Any, vocabulary: Vocabulary, *, n_ctx: int, slots: int, n_threads: int, on_gpu: bool
    ) -> None:
        self._api = api
        self._vocabulary = vocabulary
        self.n_ctx = n_ctx
        self._slots = slots
        self._n_vocab: int = api.llama_vocab_n_tokens(api.llama_model_get_vocab(model))
        parameters = api.llama_context_default_params()
        parameters.n_ctx = n_ctx * slots
        parameters.n_batch = parameters.n_ubatch = PIECE
        parameters.n_seq_max = slots
        parameters.n_outputs_max = slots  # llama.cpp wants room for a row of logits for each sequence
        parameters.n_threads = parameters.n_threads_batch = n_threads
        parameters.flash_attn_type = _FLASH_ATTENTION_AUTO
        parameters.kv_unified = False
        parameters.offload_kqv = parameters.op_offload = on_gpu
        self._handle = api.llama_init_from_model(model, parameters)
        if not self._handle:
            raise StartupFailure(
                f"llama.cpp could not make a context for {slots} chats of {n_ctx} tokens; lower either"
            )
        room = api.llama_n_ctx_seq(self._handle)
        if room < n_ctx:
            api.llama_free(self._handle)
            raise StartupFailure(f"llama.cpp gave chats a context of {room} tokens; {n_ctx} was asked for")
        self._memory = api.llama_get_memory(self._handle)
        self._batch = api.llama_batch_init(PIECE, 0, 1)
        self._free = list(range(slots))
        self._spoiled: set[int] = set()

    @property
    def slots(self) -> int:
        """Chats that may run at once now."""
        return self._slots - len(self._spoiled)

    def begin(self, task: ChatTask) -> Generation:
        sequence = next((one for one in self._free if one not in self._spoiled), None)
        if sequence is None:
            raise EngineFailure(f"more than {self.slots} chats at once")
        if not 1 <= len(task.tokens) + task.max_tokens <= self.n_ctx:
            raise ValueError(f"{len(task.tokens)} + {task.max_tokens} tokens; {self.n_ctx} fit the context")
        self._free.remove(sequence)
        return _Generation(self, task, sequence)

    def close(self) -> None:
        if self._handle:
            self._api.llama_batch_free(self._batch)
            self._api.llama_free(self._handle)
            self._handle = None

    # for generations

    def decode(self, tokens: tuple[int, ...], position: int, sequence: int, *, output: bool) -> None:
        """At most PIECE tokens, from `position` on. output: whether the last one's logits will be sampled from."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for row, token in enumerate(tokens):
            batch.token[row] = token
            batch.pos[row] = position + row
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = sequence
            batch.logits[row] = output and row == len(tokens) - 1
        code = self._api.llama_decode(self._handle, batch)
        if code != 0:
            raise EngineFailure(f"llama_decode returned {code} for a chat at position {position}")

    def sample(self, chain: Any, sequence: int) -> int:
        """Raises NotFinite; the sequence is then of no use until all of them are over."""
        row = self._api.llama_get_logits_ith(self._handle, -1)
        if not row:
            raise EngineFailure("llama_get_logits_ith returned no logits for a chat")
        if not np.isfinite(np.ctypeslib.as_array(row, (self._n_vocab,))).all():
            self._spoiled.add(sequence)
            raise NotFinite("the logits of a chat are not finite")
        return int(self._api.llama_sampler_sample(chain, self._handle, -1))

    def sampler(self, sampling: Sampling) -> Any:
        """A chain in llama.cpp's own order: penalties, top_p, temperature, draw. Whoever asks for it frees it."""
        api = self._api
        chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
        if not chain:
            raise EngineFailure("llama_sampler_chain_init returned nothing")
        if sampling.frequency_penalty or sampling.presence_penalty:
            penalties = (self._n_vocab, self.n_ctx, 1.0, sampling.frequency_penalty, sampling.presence_penalty)
            api.llama_sampler_chain_add(chain, api.llama_sampler_init_penalties(*penalties))
        if sampling.temperature == 0:
            api.llama_sampler_chain_add(chain, api.llama_sampler_init_greedy())
            return chain
        if sampling.top_p < 1:
            api.llama_sampler_chain_add(chain, api.llama_sampler_init_top_p(sampling.top_p, 1))
        api.llama_sampler_chain_add(chain, api.llama_sampler_init_temp(sampling.temperature))
        api.llama_sampler_chain_add(chain, api.llama_sampler_init_dist(sampling.seed))
        return chain

    def free_sampler(self, chain: Any) -> None:
        self._api.llama_sampler_free(chain)

    def token(self, id_: int) -> Token:
        return Token(piece=self._vocabulary.said(id_), last=self._vocabulary.ends_answer(id_))

    def give_back(self, sequence: int) -> None:
        if not self._api.llama_memory_seq_rm(self._memory, sequence, -1, -1):
            raise EngineFailure(f"llama_memory_seq_rm could not remove the chat in sequence {sequence}")
        self._free.append(sequence)
        if self._spoiled and len(self._free) == self._slots:
            # Numbers that are not finite would enter the sums of whoever comes next; only all of it can be overwritten.
            self._api.llama_memory_clear(self._memory, True)
            self._spoiled.clear()


class _Generation:
    """One answer in one sequence."""

    def __init__(self, context: ChatContext, task: ChatTask, sequence: int) -> None:
        self._context = context
        self._sequence = sequence
        self._ahead = task.tokens  # still to compute before the next token can be chosen
        self._position = 0
        self._chain = context.sampler(task.sampling)

    def step(self) -> Token | None:
        piece, self._ahead = self._ahead[:PIECE], self._ahead[PIECE:]
        self._context.decode(piece, self._position, self._sequence, output=not self._ahead)
        self._position += len(piece)
        if self._ahead:
            return None
        chosen = self._context.sample(self._chain, self._sequence)
        self._ahead = (chosen,)
        return self._context.token(chosen)

    def close(self) -> None:
        self._context.free_sampler(self._chain)
        self._context.give_back(self._sequence)
