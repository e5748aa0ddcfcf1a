"""The values of a chat: what was said so far, how to go on, and what comes of it. Knows neither HTTP nor llama.cpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from decision_server.generation import Sampling

CutBy: TypeAlias = Literal["max_tokens", "deadline"]
Role: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, kw_only=True)
class Message:
    """role: as the model's chat template knows it. content: may be empty."""

    role: Role
    content: str


@dataclass(frozen=True, kw_only=True)
class Chat:
    """max_tokens: None for as many as fit; max_tokens_field: what the caller calls it. stop: texts at which the answer
    ends, none of them empty."""

    messages: tuple[Message, ...]
    max_tokens: int | None
    stop: tuple[str, ...]
    sampling: Sampling
    max_tokens_field: str = "max_tokens"


@dataclass(frozen=True, kw_only=True)
class Said:
    """A part of the answer: whole characters, at least one."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The answer's end. cut_by: None where the model or a stop text ended it. said_tokens: the last one included."""

    cut_by: CutBy | None
    prompt_tokens: int
    said_tokens: int
