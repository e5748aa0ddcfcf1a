"""Option labels ↔ verified single tokens: what stands before each option in the prompt and is read off the logits.

Knows which labels exist and their order (contract 3.5, 3.7). A label counts only if, where the answer begins, the
model's own tokenizer makes exactly one token of it, of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_uppercase

from decision_server.model_errors import StartupFailure, TooManyOptions

REQUIRED = 16
MOST = 255

# Pairs that read as a word, a name or a usual abbreviation carry a meaning of their own into the answer.
_WORDS = frozenset(
    re.findall(
        r"[A-Z]{2}",
        "AD AH AI AM AN AS AT AX BE BY CD DO DR EU EX FM GO GP HA HE HI HM ID IF IN IQ IS IT JR LA LO MA ME "
        "MR MS MY NO NY OF OH OK ON OR OS OW OX PA PC PI PM PR RE SO SR ST TO TV UK UN UP US VS WE WC YE YO ",
    )
)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """All labels that this model can answer with, in order, and their token ids."""

    labels: tuple[str, ...]
    token_ids: tuple[int, ...]

    def first(self, count: int) -> Labels:
        """The labels of `count` options. Raises TooManyOptions."""
        if count > len(self.labels):
            raise TooManyOptions(
                given=count, limit=len(self.labels), reason="this model's vocabulary has no more single-token labels"
            )
        return Labels(labels=self.labels[:count], token_ids=self.token_ids[:count])


def candidates() -> tuple[str, ...]:
    """A to Z, then pairs of capitals that are no common word."""
    pairs = (first + second for first in ascii_uppercase for second in ascii_uppercase)
    return (*ascii_uppercase, *(pair for pair in pairs if pair not in _WORDS))


def verified(answer_tokens: Callable[[str], tuple[int, ...]], *, required: int = REQUIRED) -> Labels:
    """answer_tokens: the ids that the model would say for a label where the answer begins.

    Raises StartupFailure if one of the first `required` labels is not a single token of its own: such a model cannot
    answer by letters.
    """
    found: dict[int, str] = {}
    for place, label in enumerate(candidates()):
        tokens = answer_tokens(label)
        if len(tokens) == 1 and tokens[0] not in found:
            found[tokens[0]] = label
        elif place < required:
            raise StartupFailure(f"label {label!r} is {len(tokens)} tokens in this vocabulary; 1 of its own is needed")
    chosen = list(found.items())[:MOST]
    return Labels(labels=tuple(label for _, label in chosen), token_ids=tuple(token for token, _ in chosen))
