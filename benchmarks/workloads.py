"""What is asked: seeded requests of each workload, new in every round. Knows no process; `Prepare` counts tokens."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import texts

OURS, LIMIT_OWN, LIMIT_DEFAULT = "ours", "limit_own", "limit_default"
FRESH, RESTORED, OPENAI = "fresh", "restored", "openai"
SINGLE_TOKENS = 150
STATE_TOKENS = 600
SHORT_STATE_TOKENS = 50  # with the end of the prompt behind it
QUESTIONS = 8
TURNS = 8


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One decision as tokens.

    shared_lengths: tokens that all decisions of a prompt version share; then those that decisions over the same state
    share (by `criterion-first-v1`, those about the same question). text: the whole prompt.
    """

    tokens: tuple[int, ...]
    shared_lengths: tuple[int, ...]
    label_ids: tuple[int, ...]
    text: str

    @property
    def head_end(self) -> int:
        return self.shared_lengths[0]

    @property
    def state_end(self) -> int:
        return self.shared_lengths[-1]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Asked:
        """JSON knows no tuples."""
        fields: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in value.items()}
        return cls(**fields)


@dataclass(frozen=True, kw_only=True)
class Request:
    """decisions: as in the body. asked: the same as tokens."""

    decisions: tuple[dict[str, Any], ...]
    asked: tuple[Asked, ...]

    @property
    def body(self) -> dict[str, Any]:
        if len(self.decisions) == 1:
            return {"decision": self.decisions[0]}
        return {"decisions": list(self.decisions)}


Prepare = Callable[[Sequence[dict[str, Any]]], tuple[Asked, ...]]
Make = Callable[[random.Random, Prepare], list[Request]]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What of a round's requests is one figure: those from `start` until before `stop`. summed: taken as one time."""

    name: str
    title: str
    start: int = 0
    stop: int | None = None
    summed: bool = False

    def of(self, seconds: Sequence[float]) -> list[float]:
        """seconds: of one contestant's requests in one round; empty where it was not asked this part."""
        chosen = list(seconds[self.start : self.stop])
        return [sum(chosen)] if self.summed and chosen else chosen


@dataclass(frozen=True, kw_only=True)
class Workload:
    """make: the requests of one round, asked one after the other by each contestant. Requests before the first part
    wake threads and caches. only_first: contestants that are asked the first request alone. rounds: that count."""

    name: str
    make: Make
    contestants: tuple[str, ...]
    parts: tuple[Part, ...]
    rounds: int
    quick_rounds: int
    only_first: frozenset[str] = frozenset()


def all_workloads() -> tuple[Workload, ...]:
    limits = (LIMIT_OWN, LIMIT_DEFAULT)
    again = f"{QUESTIONS} other questions over the same state in a later request"
    return (
        Workload(
            name="single",
            make=_single,
            contestants=(OURS, *limits, FRESH, OPENAI),
            parts=(Part(name="single", title=f"one decision of {SINGLE_TOKENS} tokens, each state new", start=1),),
            rounds=10,
            quick_rounds=3,
        ),
        Workload(
            name="questions",
            make=_questions,
            contestants=(OURS, *limits, FRESH, RESTORED),
            parts=(
                Part(name="questions", title=f"{QUESTIONS} questions, one new state of {STATE_TOKENS} tokens", stop=1),
                Part(name="again", title=again, start=1),
            ),
            only_first=frozenset({FRESH}),
            rounds=5,
            quick_rounds=1,
        ),
        Workload(
            name="criterion-first",
            make=_criterion_first,
            contestants=(OURS, *limits, FRESH),
            parts=(
                Part(name="criterion-first", title="a fixed question with 10 options, each short state new", start=1),
            ),
            rounds=10,
            quick_rounds=2,
        ),
        Workload(
            name="conversation",
            make=_conversation,
            contestants=(OURS, *limits, FRESH, RESTORED),
            parts=(Part(name="conversation", title=f"a conversation of {TURNS} turns, asked after each", summed=True),),
            rounds=2,
            quick_rounds=1,
        ),
    )


def request(decisions: Sequence[dict[str, Any]], prepare: Prepare) -> Request:
    return Request(decisions=tuple(decisions), asked=prepare(decisions))


def single_decision(drawn: random.Random, prepare: Prepare, name: str = "d") -> dict[str, Any]:
    """A decision of SINGLE_TOKENS tokens, or a word's tokens fewer, whose state nobody has seen."""
    rest = texts.decision(drawn, name, "")
    state = texts.words_for(drawn, lambda text: len(prepare([rest | {"state": text}])[0].tokens), SINGLE_TOKENS)
    return rest | {"state": state}


def _single(drawn: random.Random, prepare: Prepare) -> list[Request]:
    return [request([single_decision(drawn, prepare)], prepare) for _ in range(5)]


def _state(drawn: random.Random, prepare: Prepare, target: int, rest: dict[str, Any]) -> str:
    def length(text: str) -> int:
        asked = prepare([rest | {"state": text}])[0]
        return asked.state_end - asked.head_end

    return texts.words_for(drawn, length, target)


def _questions(drawn: random.Random, prepare: Prepare) -> list[Request]:
    state = _state(drawn, prepare, STATE_TOKENS, texts.decision(drawn, "d", ""))
    return [
        request([texts.decision(drawn, f"q{number}", state) for number in range(QUESTIONS)], prepare) for _ in range(2)
    ]


def _criterion_first(drawn: random.Random, prepare: Prepare) -> list[Request]:
    rest = texts.decision(
        drawn, "d", "", options=10, question="Which team should handle this case, judged by its text?"
    )
    rest["prompt_version"] = "criterion-first-v1"

    def length(text: str) -> int:
        asked = prepare([rest | {"state": text}])[0]
        return len(asked.tokens) - asked.state_end  # by this version the state stands behind what is shared

    made = []
    for _ in range(6):
        state = texts.words_for(drawn, length, SHORT_STATE_TOKENS)
        made.append(request([rest | {"state": state}], prepare))
    return made


def _conversation(drawn: random.Random, prepare: Prepare) -> list[Request]:
    rest = texts.decision(drawn, "d", "", options=3, question="Is the customer satisfied by now?")
    turns: list[dict[str, str]] = []
    made = []
    for number in range(TURNS):
        role = "customer" if number % 2 == 0 else "agent"
        turns.append({"role": role, "text": " ".join(texts.sentence(drawn) for _ in range(2))})
        made.append(request([rest | {"state": list(turns)}], prepare))
    return made
