"""How much may be automated at a given risk: from which probability on answers may stand without a person.

An answer is automated where its top probability is at least the cut; the server's `abstain_below` means the same
(contract 3: abstained where the largest probability is less than it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from client.evaluation.asked import Answered, answered
from client.evaluation.intervals import CONFIDENCE, Share, share, upper_bound
from client.evaluation.item import Item
from client.evaluation.outcomes import GIVEN, Given, Outcome

ALL = "all"
LEAST = 10  # automated answers without which no cut is stated: fewer say nothing of a rate
STEPS = 10  # shares of the answers that are tested for the assured cut: 100 %, 90 %, …


@dataclass(frozen=True, kw_only=True)
class Cut:
    """automated: of all that were asked. wrong: of the automated. bound: what the true error is at most, where that was
    tested.
    """

    abstain_below: float
    automated: Share
    wrong: Share
    bound: float | None = None


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """For one risk budget, over the questions of one type or ALL. Either cut is None where there is none.

    likely: the lowest cut at which no more than `risk` of this set's automated answers, LEAST or more, are wrong. It
    was chosen by the same answers that it is measured on, so expect more errors than it shows.
    assured: the lowest of STEPS cuts whose true error is, with CONFIDENCE, no more than `risk`.
    """

    risk: float
    scope: str
    likely: Cut | None
    assured: Cut | None


def thresholds(items: Sequence[Item], outcomes: Sequence[Outcome], risks: Sequence[float]) -> tuple[Threshold, ...]:
    """By risk, then ALL and each type of question where there are several."""
    asked = {outcome.item_id for outcome in outcomes if outcome.order == GIVEN}
    counted = [item for item in items if item.id in asked]
    pairs = answered(counted, outcomes)
    types = list(dict.fromkeys(item.question_type for item in counted))
    scopes = [ALL, *(types if len(types) > 1 else [])]
    return tuple(_threshold(risk, scope, counted, pairs) for risk in risks for scope in scopes)


def is_automated(given: Given, abstain_below: float) -> bool:
    return given.top_probability >= abstain_below


def _threshold(risk: float, scope: str, items: Sequence[Item], pairs: Sequence[Answered]) -> Threshold:
    asked = sum(scope in (ALL, item.question_type) for item in items)
    mine = [pair for pair in pairs if scope in (ALL, pair.item.question_type)]
    return Threshold(risk=risk, scope=scope, likely=_likely(risk, asked, mine), assured=_assured(risk, asked, mine))


def _likely(risk: float, asked: int, pairs: Sequence[Answered]) -> Cut | None:
    """The surest first; equal probabilities fall on one side of a cut together."""
    ranked = sorted(pairs, key=lambda pair: -pair.given.top_probability)
    best, wrong = None, 0
    for count, (pair, following) in enumerate(zip_longest(ranked, ranked[1:]), start=1):
        wrong += not pair.right
        value = pair.given.top_probability
        last = following is None or following.given.top_probability < value
        if last and count >= LEAST and wrong <= risk * count:
            best = value
    return None if best is None else _cut(best, asked, pairs)


def _assured(risk: float, asked: int, pairs: Sequence[Answered]) -> Cut | None:
    """The cuts at which about 100 %, 90 % … of the answers are automated are tested, each at (1 − CONFIDENCE) / STEPS,
    so that all bounds hold together with CONFIDENCE and the best may be chosen (Bonferroni; Angelopoulos, Bates,
    Candès, Jordan and Lei, "Learn then test: calibrating predictive algorithms to achieve risk control", 2021). The
    claim is about decisions like those of the set, and holds for one row of the table at a time.
    """
    tops = sorted((pair.given.top_probability for pair in pairs), reverse=True)
    for step in range(STEPS, 0, -1):
        if (count := len(tops) * step // STEPS) == 0:
            break
        value = tops[count - 1]
        automated = [pair for pair in pairs if is_automated(pair.given, value)]
        wrong = sum(not pair.right for pair in automated)
        bound = upper_bound(wrong, len(automated), doubt=(1 - CONFIDENCE) / STEPS)
        if bound <= risk:
            return replace(_cut(value, asked, pairs), bound=bound)
    return None


def _cut(value: float, asked: int, pairs: Sequence[Answered]) -> Cut:
    automated = [pair for pair in pairs if is_automated(pair.given, value)]
    wrong = sum(not pair.right for pair in automated)
    return Cut(abstain_below=value, automated=share(len(automated), asked), wrong=share(wrong, len(automated)))
