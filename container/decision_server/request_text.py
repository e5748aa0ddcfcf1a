"""Text of a request → token ids, none of them a control token (F20). Knows the vocabulary; no prompts, no templates.

Any thread may use it. What stands around the text, in a prompt or an answer, is others' work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from decision_server.markers import cut, is_marker, pattern
from decision_server.model_errors import ControlTokenInText, DecisionRefused, StartupFailure, TextNotSpelled

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary


class RequestText:
    """special: matches the text of any special token, for whoever cuts a template's own text at them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._longest_piece = vocabulary.longest_piece()
        special = vocabulary.special_tokens
        self.special = pattern([token.text for token in special])
        self._control_ids = frozenset(token.id for token in special if token.control)
        self._control = pattern([token.text for token in special if token.control])
        self._added = pattern([token.text for token in special if not token.control and is_marker(token.text)])

    def least_tokens(self, text: str) -> int:
        """No text has fewer tokens than this; known without looking at more than its length."""
        return len(text.encode()) // self._longest_piece

    def tokens(self, text: str, *, field: str = "state") -> tuple[int, ...]:
        """Plain text → ids, none of them a control token. Raises ControlTokenInText."""
        tokens = self._pieces(text, self._added)
        if self._control_ids.isdisjoint(tokens):
            return tokens
        # A vocabulary whose merges can build a control token out of plain text: its marker is cut as well.
        tokens = self._pieces(text, pattern([self._control.pattern, self._added.pattern], escape=False))
        for token in tokens:
            if token in self._control_ids:
                raise ControlTokenInText(token=self._vocabulary.piece(token).decode(errors="replace"), field=field)
        return tokens

    def ends(self, tokens: tuple[int, ...], text: str, *, field: str = "state") -> list[int]:
        """Where each token ends in the text, in bytes. Raises TextNotSpelled, or DecisionRefused in general, where they
        do not spell it out again."""
        pieces = [self._vocabulary.piece(token) for token in tokens]
        ahead = self._ahead(pieces, text)
        if ahead is None:
            if unspelled := [one for one in dict.fromkeys(text) if not one.isascii() and not self._spells(one)]:
                raise TextNotSpelled(characters=unspelled, field=field)
            raise DecisionRefused(
                "the text holds that of one of the added tokens of this model's vocabulary; write it differently",
                field=field,
            )
        return [end - ahead for end in accumulate(len(piece) for piece in pieces)]

    def check(self, text: str, *, field: str) -> None:
        """Raises ControlTokenInText, TextNotSpelled, DecisionRefused where this text cannot be read as it stands."""
        self.ends(self.tokens(text, field=field), text, field=field)

    @staticmethod
    def _ahead(pieces: Sequence[bytes], text: str) -> int | None:
        """Bytes that stand before the text in what the pieces spell; None where they do not spell it."""
        spelled, encoded = b"".join(pieces), text.encode()
        if spelled == b" " + encoded:  # sentencepiece vocabularies put a space before the first word
            return 1
        return 0 if spelled == encoded else None

    def _spells(self, character: str) -> bool:
        tokens = self._vocabulary.tokenize(character, parse_special=False)
        return self._ahead([self._vocabulary.piece(token) for token in tokens], character) is not None

    def template_tokens(self, text: str) -> tuple[int, ...]:
        """A template's own text → ids; its control tokens are control tokens."""
        return self._vocabulary.tokenize(text, parse_special=True)

    def with_bos(self, head: tuple[int, ...]) -> tuple[int, ...]:
        """At most one BOS: the metadata's, unless the template wrote it already (F5). Raises StartupFailure."""
        bos = self._vocabulary.bos_id
        if self._vocabulary.add_bos and bos is not None and head[:1] != (bos,):
            return (bos, *head)
        if bos is not None and head[:2] == (bos, bos):
            raise StartupFailure("the chat template begins with two BOS tokens; at most 1 is allowed")
        return head

    def _pieces(self, text: str, markers: re.Pattern[str]) -> tuple[int, ...]:
        return tuple(
            token for piece in cut(text, markers) for token in self._vocabulary.tokenize(piece, parse_special=False)
        )
