"""Token ids → what a person can look at. A token may be a part of a character: then its bytes are told instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol


class Spelling(Protocol):
    def piece(self, token: int) -> bytes:
        """The bytes that a token spells; for a special token, its marker."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """text: None where the bytes are no whole characters. hex: the bytes. control: the template's, never a caller's."""

    id: int
    text: str | None
    hex: str
    control: bool


def token(vocabulary: Spelling, id_: int, control: Collection[int]) -> Token:
    spelled = vocabulary.piece(id_)
    try:
        text = spelled.decode()
    except UnicodeDecodeError:
        text = None
    return Token(id=id_, text=text, hex=spelled.hex(" "), control=id_ in control)


def tokens(vocabulary: Spelling, ids: Iterable[int], control: Collection[int]) -> tuple[Token, ...]:
    return tuple(token(vocabulary, id_, control) for id_ in ids)
