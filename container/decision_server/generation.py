"""What the scheduler hands to an engine that writes answers to chats, and gets back. The seam for a fake in tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen. temperature 0: the most probable one, without chance. seed: in [0, 2**32−1)."""

    temperature: float
    top_p: float
    frequency_penalty: float
    presence_penalty: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class ChatTask:
    """tokens: the whole prompt. max_tokens: how many may follow, at least 1; both together fit a chat's context."""

    tokens: tuple[int, ...]
    max_tokens: int
    sampling: Sampling


@dataclass(frozen=True, kw_only=True)
class Token:
    """One token of an answer. piece: the bytes it adds to the text, mostly part of a word, maybe part of a character.
    last: the model ended its answer with it."""

    piece: bytes
    last: bool


class Generation(Protocol):
    """One answer under way. For the engine's thread alone."""

    def step(self) -> Token | None:
        """Computes one piece of the prompt or one token; None while the prompt is not all read."""

    def close(self) -> None:
        """Gives its place in the engine back."""


class ChatEngine(Protocol):
    @property
    def slots(self) -> int:
        """Answers that may be under way at once."""

    def begin(self, task: ChatTask) -> Generation:
        """Takes a slot; one must be free. Computes nothing yet."""


class NoChats:
    """A server that writes no answers."""

    slots = 0

    def begin(self, task: ChatTask) -> Generation:
        raise ValueError("this engine has no context for chats")
