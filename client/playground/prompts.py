"""A decision's body → the prompts that a server with this model writes for it, with their tokens.

Made by the server's own preparation, so there is no second rule that could differ; the page compares the hash with the
answer's besides. The weights are not needed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from client.playground.tokens import Token, token, tokens

if TYPE_CHECKING:
    from client.playground.vocabulary import OpenVocabulary
    from decision_server.decisions import Decision
    from decision_server.preparation import Prepared
    from decision_server.tokens import EncodedPrompt

LONGEST = 32_768  # tokens of one prompt; a page with more of them is slow, and nobody reads them


class NotShown(Exception):
    """No prompts for this body. Its text says why."""


@dataclass(frozen=True, kw_only=True)
class ShownPrompt:
    """kind: `prompt`, `rotation` or `baseline`. listed: ids of the options in the order in which they stand in it."""

    kind: str
    text: str
    tokens: tuple[Token, ...]
    listed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OptionTokens:
    """What stands for an option in the answer: its label, or its text."""

    id: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, kw_only=True)
class Prompts:
    """prompt_sha256: of the first prompt. gguf_sha256: of the weights whose vocabulary made the tokens.

    free: the token that the page asked for by its id, where it asked for one.
    """

    readout: str
    prompt_version: str
    prompt_sha256: str
    gguf_sha256: str
    prompts: tuple[ShownPrompt, ...]
    options: tuple[OptionTokens, ...]
    free: Token | None


class PromptMaker:
    """Safe to use from many threads at once."""

    def __init__(self, opened: OpenVocabulary) -> None:
        """Raises Refused where no prompt can be made for this model."""
        from client.playground.recording import recording_preparer

        self.gguf_sha256, self._vocabulary = opened.sha256, opened.vocabulary
        self._control = frozenset(special.id for special in self._vocabulary.special_tokens if special.control)
        self._preparer = recording_preparer(self._vocabulary, n_ctx=LONGEST)
        self._lock = threading.Lock()

    def prompts(self, body: bytes, *, free: int | None) -> Prompts:
        """body: of contract section 3, with `decision`. free: a token id to spell. Raises NotShown."""
        decision = _decision(body)
        with self._lock:
            prepared, encoded = self._prepare(decision)
        if free is not None and not 0 <= free < self._vocabulary.n_tokens:
            raise NotShown(f"token {free}: this vocabulary has the tokens 0 to {self._vocabulary.n_tokens - 1}")
        return Prompts(
            readout=prepared.readout,
            prompt_version=prepared.prompt_version,
            prompt_sha256=prepared.prompt_sha256,
            gguf_sha256=self.gguf_sha256,
            prompts=self._shown(decision, prepared, encoded),
            options=self._options(decision, prepared),
            free=None if free is None else token(self._vocabulary, free, self._control),
        )

    def _prepare(self, decision: Decision) -> tuple[Prepared, tuple[EncodedPrompt, ...]]:
        from decision_server.model_errors import ContextOverflow, DecisionRefused

        try:
            return self._preparer.prepare_with_prompts(decision)
        except ContextOverflow as error:
            raise NotShown(f"prompts of more than {LONGEST} tokens are not shown here; ask with less text") from error
        except DecisionRefused as error:
            raise NotShown(str(error)) from error

    def _shown(
        self, decision: Decision, prepared: Prepared, encoded: tuple[EncodedPrompt, ...]
    ) -> tuple[ShownPrompt, ...]:
        from decision_server.plans import Likelihood, RotatedLetters

        ids = tuple(option.id for option in decision.options)
        orders: tuple[tuple[int, ...], ...] = (tuple(range(len(ids))),)
        kinds: tuple[str, ...] = ("prompt",)
        if isinstance(prepared.plan, RotatedLetters):
            orders, kinds = prepared.plan.orders, ("rotation",) * len(encoded)
        elif isinstance(prepared.plan, Likelihood):
            orders, kinds = ((), ()), ("prompt", "baseline")
        return tuple(
            ShownPrompt(
                kind=kind,
                text=one.text,
                tokens=tokens(self._vocabulary, one.tokens, self._control),
                listed=tuple(ids[index] for index in order),
            )
            for kind, one, order in zip(kinds, encoded, orders, strict=True)
        )

    def _options(self, decision: Decision, prepared: Prepared) -> tuple[OptionTokens, ...]:
        from decision_server.plans import Likelihood

        plan = prepared.plan
        if isinstance(plan, Likelihood):
            spelled = [plan.task.continuations[text] for text in plan.text_of_option]
        else:
            spelled = [(label,) for label in plan.answer_token_ids]
        return tuple(
            OptionTokens(id=option.id, tokens=tokens(self._vocabulary, ids, self._control))
            for option, ids in zip(decision.options, spelled, strict=True)
        )


def _decision(body: bytes) -> Decision:
    from decision_server.errors import Refusal
    from decision_server.wire import decision_bodies, json_body

    try:
        value = json_body.parse(body)
        if not isinstance(value, dict):
            raise NotShown("the body is no JSON object; one with `decision` is needed")
        return decision_bodies.read_one(value).decision
    except Refusal as refusal:
        raise NotShown(refusal.message) from refusal
