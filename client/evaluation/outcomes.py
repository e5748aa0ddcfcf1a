"""What one asking gave: the line of a run's journal. Values and their JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from client.decisions import Answer
from client.decisions.answer import SUM_MAY_MISS, AnswerFacts

GIVEN, REVERSED = "given", "reversed"


@dataclass(frozen=True, kw_only=True)
class Given(AnswerFacts):
    """What is kept of an answer. gguf_sha256: where it says it."""

    gguf_sha256: str | None = None

    @property
    def valid(self) -> bool:
        """Whether it is a distribution over its options: finite, none below 0, sum 1 to within SUM_MAY_MISS."""
        return (
            len(self.probabilities) == len(self.option_ids)
            and all(math.isfinite(each) and each >= 0 for each in self.probabilities)
            and abs(math.fsum(self.probabilities) - 1) <= SUM_MAY_MISS
        )

    def of(self, option_id: str) -> float:
        """The probability of one option."""
        return self.probabilities[self.option_ids.index(option_id)]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """order: GIVEN, or REVERSED for the second asking with its options the other way round.

    seconds: from the asking to the answer, further tries included. began: seconds since 1970. started: which asking of
    the run it was, from 0. session: how often the run had been taken up before. error: why there is no answer.
    concurrency: how many were asked at once then; None in journals of versions that did not say. passing: of a fault
    that may pass, such as a crash; a journal holds none of these, so that they are asked again.
    """

    item_id: str
    order: str
    answer: Given | None
    seconds: float
    began: float
    started: int
    session: int = 0
    error: str | None = None
    concurrency: int | None = None
    passing: bool = False

    @property
    def valid(self) -> bool:
        return self.answer is not None and self.answer.valid


def keep(answer: Answer) -> Given:
    told = {name: getattr(answer, name) for name in AnswerFacts.__dataclass_fields__}
    return Given(**told, gguf_sha256=weights_sha256(answer))


def weights_sha256(answer: Answer) -> str | None:
    """Of contract 3.3; answers to System One do not say it."""
    told = answer.raw.get("model")
    gguf = told.get("gguf") if isinstance(told, dict) else None
    sha256 = gguf.get("sha256") if isinstance(gguf, dict) else None
    return sha256 if isinstance(sha256, str) else None


def to_json(outcome: Outcome) -> bytes:
    """One line, without a line break."""
    told = asdict(outcome)
    del told["passing"]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def from_json(line: bytes) -> Outcome:
    """What `to_json` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    told: dict[str, Any] = json.loads(line)
    answer = told.pop("answer")
    return Outcome(answer=None if answer is None else _given(answer), **told)


def _given(told: dict[str, Any]) -> Given:
    lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list)}
    return Given(**{**told, **lists})
