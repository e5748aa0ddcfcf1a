"""The loaded model's vocabulary: text ↔ ids, special tokens, chat template. Read-only; any thread may use it.

It lives in the model's memory, so it counts who is inside: closing waits for them, and later calls are refused.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from decision_server.model_errors import EngineClosed, EngineFailure, StartupFailure


@dataclass(frozen=True, kw_only=True)
class SpecialToken:
    """A token that is matched as a whole in template text. control: never to be made from a request's text."""

    id: int
    text: str
    control: bool


class Vocabulary:
    """add_bos: whether the GGUF wants a BOS before every prompt. bos_id: None if it has none. Lengths in tokens."""

    def __init__(self, api: Any, model: Any) -> None:
        self._api = api
        self._handle = api.llama_model_get_vocab(model)
        if not self._handle:
            raise EngineFailure("llama_model_get_vocab returned no vocabulary")
        self._condition = threading.Condition()
        self._users = 0
        self._closed = False
        self._pieces: dict[int, bytes] = {}
        self._longest: int | None = None
        self.n_tokens: int = api.llama_vocab_n_tokens(self._handle)
        self.n_ctx_train: int = api.llama_model_n_ctx_train(model)
        self.add_bos: bool = api.llama_vocab_get_add_bos(self._handle)
        template = api.llama_model_chat_template(model, None)
        self.chat_template: str | None = None if template is None else template.decode()
        self.bos_id = self._declared(api.llama_vocab_bos(self._handle))
        if self.add_bos and self.bos_id is None:
            raise StartupFailure("the GGUF asks for a BOS before every prompt and names no control token for it")
        self.bos_text = "" if self.bos_id is None else self._text(self.bos_id)
        eos_id = self._declared(api.llama_vocab_eos(self._handle))
        self.eos_text = "" if eos_id is None else self._text(eos_id)
        self.special_tokens = tuple(self._special())
        self._unsaid = frozenset(token.id for token in self.special_tokens if token.control)

    def tokenize(self, text: str, *, parse_special: bool) -> tuple[int, ...]:
        """UTF-8 text → ids, without any token of the vocabulary's own accord (BOS, EOS).

        parse_special: whether the text of a control token becomes that token. Added tokens that are not control tokens
        are recognised either way; that is llama.cpp's rule.
        """
        data = text.encode()
        with self._inside():
            room = len(data) + 16
            for _ in range(2):
                tokens = (self._api.llama_token * room)()
                count = self._api.llama_tokenize(self._handle, data, len(data), tokens, room, False, parse_special)
                if count >= 0:
                    return tuple(tokens[:count])
                room = -count
        raise EngineFailure(f"llama_tokenize returned {count} for {len(data)} bytes")

    def piece(self, token: int) -> bytes:
        """The bytes that a token spells; for a special token, its marker."""
        known = self._pieces.get(token)
        if known is None:
            with self._inside():
                known = self._pieces[token] = self._piece(token)
        return known

    def longest_piece(self) -> int:
        """Bytes that a single token spells at most."""
        if self._longest is None:
            with self._inside():
                self._longest = max(len(self._piece(token)) for token in range(self.n_tokens))
        return self._longest

    def said(self, token: int) -> bytes:
        """The bytes that a generated token adds to an answer: a control token adds none."""
        return b"" if token in self._unsaid else self.piece(token)

    def ends_answer(self, token: int) -> bool:
        """Whether a model that says this token has no more to say."""
        with self._inside():
            return bool(self._api.llama_vocab_is_eog(self._handle, token))

    def close(self) -> None:
        """Waits until nobody is inside, then refuses everyone."""
        with self._condition:
            self._closed = True
            self._condition.wait_for(lambda: self._users == 0)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        with self._condition:
            if self._closed:
                raise EngineClosed("the model was closed")
            self._users += 1
        try:
            yield
        finally:
            with self._condition:
                self._users -= 1
                self._condition.notify_all()

    def _piece(self, token: int) -> bytes:
        room = 64
        for _ in range(2):
            buffer = ctypes.create_string_buffer(room)
            count = self._api.llama_token_to_piece(self._handle, token, buffer, room, 0, True)
            if count >= 0:
                return buffer.raw[:count]
            room = -count
        raise EngineFailure(f"llama_token_to_piece returned {count} for token {token}")

    def _special(self) -> Iterator[SpecialToken]:
        api = self._api
        control = api.LLAMA_TOKEN_ATTR_CONTROL | api.LLAMA_TOKEN_ATTR_UNKNOWN
        for token in range(self.n_tokens):
            attributes = api.llama_vocab_get_attr(self._handle, token)
            if attributes & (control | api.LLAMA_TOKEN_ATTR_USER_DEFINED):
                text = self._text(token)
                if text:
                    yield SpecialToken(id=token, text=text, control=bool(attributes & control))

    def _text(self, token: int) -> str:
        text = self._api.llama_vocab_get_text(self._handle, token)
        if text is None:
            raise EngineFailure(f"llama_vocab_get_text returned nothing for token {token}")
        return str(text.decode())

    def _declared(self, token: int) -> int | None:
        """Where the GGUF names none, llama.cpp answers with the usual number: only a control token counts."""
        if 0 <= token < self.n_tokens and self._api.llama_vocab_is_control(self._handle, token):
            return int(token)
        return None
