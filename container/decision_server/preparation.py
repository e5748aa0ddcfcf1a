"""One decision → a scoring task and all that reading its answer needs. Joins prompt, tokens and labels; no llama.cpp.

Used by request threads, many at a time; everything here is fixed after construction.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from decision_server import labels, prompt
from decision_server.decisions import Decision
from decision_server.model_errors import ContextOverflow, StartupFailure, UnknownChoice
from decision_server.scoring import ScoringTask
from decision_server.tokens import PromptTokenizer

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary

LETTERS = "letters"
READOUTS = (LETTERS,)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What the engine computes, and what the answer says about it (contract 3.3).

    labels, label_token_ids: one for each option, in the request's order. prompt_sha256: 64 hex, of the prompt's text.
    prompt_version, readout: those really used.
    """

    task: ScoringTask
    labels: tuple[str, ...]
    label_token_ids: tuple[int, ...]
    prompt_sha256: str
    prompt_version: str
    readout: str
    input_tokens: int


class Preparer:
    """Prepares decisions for one loaded model."""

    def __init__(self, vocabulary: Vocabulary, *, n_ctx: int, readout: str, prompt_version: str) -> None:
        """readout, prompt_version: what a decision gets that asks for none. Raises StartupFailure."""
        _known_at_start("readout", readout, READOUTS)
        _known_at_start("prompt_version", prompt_version, prompt.PROMPT_VERSIONS)
        self._n_ctx = n_ctx
        self._readout = readout
        self._prompt_version = prompt_version
        systems = {version: prompt.system_turn(version) for version in prompt.PROMPT_VERSIONS}
        self._tokenizer = PromptTokenizer(vocabulary, tuple(systems.values()))
        self._labels = {
            version: labels.verified(partial(self._tokenizer.answer_tokens, system))
            for version, system in systems.items()
        }

    def prepare(self, decision: Decision) -> Prepared:
        """Raises ContextOverflow, TooManyOptions, UnknownChoice, ControlTokenInText, DecisionRefused."""
        readout = decision.readout or self._readout
        if readout not in READOUTS:
            raise UnknownChoice(field="readout", value=readout, known=READOUTS)
        version = prompt.version_for(decision.prompt_version or self._prompt_version, len(decision.options))
        chosen = self._labels[version].first(len(decision.options))
        encoded = self._tokenizer.encode(prompt.render(decision, chosen.labels, version))
        if len(encoded.tokens) > self._n_ctx:
            raise ContextOverflow(input_tokens=len(encoded.tokens), n_ctx=self._n_ctx)
        return Prepared(
            task=ScoringTask(tokens=encoded.tokens, shared_lengths=encoded.shared_lengths),
            labels=chosen.labels,
            label_token_ids=chosen.token_ids,
            prompt_sha256=hashlib.sha256(encoded.text.encode()).hexdigest(),
            prompt_version=version,
            readout=readout,
            input_tokens=len(encoded.tokens),
        )


def _known_at_start(field: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise StartupFailure(f"{field}: {value!r} is not known; known here: {', '.join(known)}")
