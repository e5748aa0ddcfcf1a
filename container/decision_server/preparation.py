"""One decision → what is scored for it, and what its answer says about it. Joins prompt, tokens, labels; no llama.cpp.

Used by request threads, many at a time; everything here is fixed after construction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from decision_server import choices, labels, prompt, rotations
from decision_server.choices import Choice
from decision_server.decisions import Decision
from decision_server.model_errors import ContextOverflow, DecisionRefused
from decision_server.plans import Letters, Likelihood, Plan, RotatedLetters
from decision_server.prompt import Prompt
from decision_server.scoring import ScoringTask
from decision_server.tokens import EncodedPrompt, PromptTokenizer

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What the engine computes, and what the answer says about it (contract 3.3).

    prompt_sha256: 64 hex, of the text of the plan's first prompt. readout, prompt_version: those really used.
    warnings: what the caller should know whatever the scores are.
    """

    plan: Plan
    prompt_sha256: str
    prompt_version: str
    readout: str
    warnings: tuple[str, ...] = ()

    @property
    def input_tokens(self) -> int:
        """Of all prompts and option texts that the answer is made from, the baseline's not among them."""
        return sum(len(task.tokens) + sum(map(len, task.continuations)) for task in self.plan.tasks)


class Preparer:
    """Prepares decisions for one loaded model."""

    def __init__(self, vocabulary: Vocabulary, *, n_ctx: int, readout: str, prompt_version: str) -> None:
        """readout, prompt_version: what a decision gets that asks for none. Raises StartupFailure."""
        self._defaults = choices.checked(readout, prompt_version)
        self._n_ctx = n_ctx
        systems = {version: prompt.system_turn(version) for version in choices.PROMPT_VERSIONS}
        self._tokenizer = PromptTokenizer(vocabulary, tuple(dict.fromkeys(systems.values())))
        listing = dict.fromkeys(systems[version] for version in choices.LISTING_VERSIONS)
        required = 0 if self._defaults.readout == choices.LIKELIHOOD else labels.REQUIRED
        found = {
            system: labels.verified(partial(self._tokenizer.answer_tokens, system), required=required)
            for system in listing
        }
        self._labels = {version: found[systems[version]] for version in choices.LISTING_VERSIONS}

    def prepare(self, decision: Decision) -> Prepared:
        """Raises ContextOverflow, TooManyOptions, UnknownChoice, ControlTokenInText, DecisionRefused."""
        asked = choices.for_decision(self._defaults, readout=decision.readout, prompt_version=decision.prompt_version)
        chosen = asked.for_type(decision.question_type).for_options(len(decision.options))
        if chosen.readout == choices.LIKELIHOOD:
            return self._likelihood(decision, chosen)
        if chosen.readout == choices.ROTATED:
            return self._rotated(decision, chosen)
        return self._letters(decision, chosen)

    def _letters(self, decision: Decision, chosen: Choice) -> Prepared:
        own = self._labels[chosen.prompt_version].first(len(decision.options))
        encoded = self._encode(prompt.render(decision, own.labels, chosen.prompt_version), decision)
        plan = Letters(task=_task(encoded), answer_token_ids=own.token_ids)
        return _prepared(plan, encoded, chosen)

    def _rotated(self, decision: Decision, chosen: Choice) -> Prepared:
        own = self._labels[chosen.prompt_version].first(len(decision.options))
        orders = rotations.orders([option.description for option in decision.options])
        encoded = [
            self._encode(prompt.render(decision.in_order(order), own.labels, chosen.prompt_version), decision)
            for order in orders
        ]
        plan = RotatedLetters(tasks=tuple(_task(one) for one in encoded), orders=orders, label_token_ids=own.token_ids)
        return _prepared(plan, encoded[0], chosen)

    def _likelihood(self, decision: Decision, chosen: Choice) -> Prepared:
        system = prompt.system_turn(chosen.prompt_version)
        for option in decision.options:
            self._check_length(option.answer, decision)
        texts = [self._tokenizer.continuation(system, option.answer) for option in decision.options]
        distinct = sorted(set(texts))
        encoded, without = (
            self._encode(prompt.render_likelihood(state, decision.question), decision, longest=max(map(len, distinct)))
            for state in (decision.state, prompt.NO_EVIDENCE)
        )
        plan = Likelihood(
            task=_task(encoded, distinct),
            baseline=_task(without, distinct),
            text_of_option=tuple(map(distinct.index, texts)),
        )
        return _prepared(plan, encoded, chosen, _same_texts(decision))

    def _encode(self, rendered: Prompt, decision: Decision, *, longest: int = 0) -> EncodedPrompt:
        """longest: tokens that must fit behind the prompt."""
        self._check_length(rendered.user, decision)
        try:
            encoded = self._tokenizer.encode(rendered)
        except DecisionRefused:
            for field, text in _texts(decision).items():  # the first that cannot be read by itself is at fault
                self._tokenizer.check(text, field=field)
            raise
        if (count := len(encoded.tokens) + longest) > self._n_ctx:
            raise ContextOverflow(input_tokens=count, n_ctx=self._n_ctx, field=_largest(decision))
        return encoded

    def _check_length(self, text: str, decision: Decision) -> None:
        """Refuses at once what is far too long: counting a megabyte's tokens takes seconds, in which others wait."""
        if (least := self._tokenizer.least_tokens(text)) > self._n_ctx:
            raise ContextOverflow(input_tokens=least, n_ctx=self._n_ctx, field=_largest(decision), at_least=True)


def _largest(decision: Decision) -> str:
    """The field that takes most of a prompt."""
    texts = _texts(decision)
    return max(texts, key=lambda name: len(texts[name]))


def _texts(decision: Decision) -> dict[str, str]:
    """By field, about as prompts have them."""
    options = [[option.description, option.answer] for option in decision.options]
    given = {"state": decision.state, "question": decision.question, "options": options}
    return {field: json.dumps(value, ensure_ascii=False) for field, value in given.items()}


def _task(encoded: EncodedPrompt, continuations: Sequence[tuple[int, ...]] = ()) -> ScoringTask:
    return ScoringTask(tokens=encoded.tokens, shared_lengths=encoded.shared_lengths, continuations=tuple(continuations))


def _prepared(plan: Plan, first: EncodedPrompt, chosen: Choice, warnings: tuple[str, ...] = ()) -> Prepared:
    return Prepared(
        plan=plan,
        prompt_sha256=hashlib.sha256(first.text.encode()).hexdigest(),
        prompt_version=chosen.prompt_version,
        readout=chosen.readout,
        warnings=warnings,
    )


def _same_texts(decision: Decision) -> tuple[str, ...]:
    """By likelihood, options are their texts: those with equal texts cannot be told apart, and get equal scores."""
    first: dict[str, str] = {}
    for option in decision.options:
        if option.answer in first:
            return (
                f"options {first[option.answer]!r} and {option.id!r} have the same description: this readout "
                "gives them equal probabilities, whatever the evidence says",
            )
        first[option.answer] = option.id
    return ()
