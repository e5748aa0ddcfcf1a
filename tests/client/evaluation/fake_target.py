"""A target without a model: what it answers follows from the question alone, or is said by the test."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict

from client.decisions import Answer, Decision, JsonValue, Question
from client.evaluation.item import Item
from tests.client.evaluation.made import given


class FakeTarget:
    """before: called with each id or state that is asked, ahead of the answer; it may raise."""

    def __init__(self, before: Callable[[str], None] = lambda name: None) -> None:
        self.asked: list[str] = []
        self.given: list[object] = []
        self._before, self._lock = before, threading.Lock()

    def decide(self, decision: Decision) -> Answer:
        self._note(decision.id, decision)
        item = Item(id=decision.id, state=decision.state, question=decision, expected="a")
        return answer(item, f"{decision.id} {sorted(item.option_ids)}")

    def ask(
        self,
        state: JsonValue,
        questions: Mapping[str, Question],
        *,
        readout: str | None = None,
        prompt_version: str | None = None,
    ) -> Mapping[str, Answer]:
        self._note(str(state), (questions, readout, prompt_version))
        return {
            name: answer(Item(id=name, state=state, question=question, expected=""), f"{state} {question}")
            for name, question in questions.items()
        }

    def _note(self, name: str, given: object) -> None:
        with self._lock:
            self.asked.append(name)
            self.given.append(given)
        self._before(name)


def answer(item: Item, seed: str) -> Answer:
    """Probabilities that hang on the seed and on the options' names, not on their order."""
    weights = [1 + hashlib.sha256(f"{seed} {option}".encode()).digest()[0] for option in item.option_ids]
    kept = given(item, [weight / sum(weights) for weight in weights])
    told = {name: getattr(kept, name) for name in asdict(kept) if name != "gguf_sha256"}
    return Answer(**told, raw={})
