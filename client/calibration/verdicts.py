"""What a calibration run says of each type of question: kept, not kept and why, or not fitted and why. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client.calibration.collecting import QUESTION_TYPES, Collected, Labelled, at_temperature
from client.calibration.cross_validation import Validated, too_few, validate
from client.evaluation.asked import Answered
from client.evaluation.proper_scores import brier
from client.evaluation.reliability import Reliability, reliability

KEPT, NOT_KEPT, NOT_FITTED = "kept", "not kept", "not fitted"


@dataclass(frozen=True, kw_only=True)
class Quality:
    """negative_log_likelihood: in nats, without a floor, since scores say what probabilities round to 0."""

    negative_log_likelihood: float
    brier: float | None
    reliability: Reliability


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """of one type. status: KEPT, NOT_KEPT or NOT_FITTED; why: the rest of the sentence. bounded: answers of which some
    score is known as a bound only. validated, before, after: None where nothing was fitted."""

    question_type: str
    status: str
    why: str
    decisions: int
    groups: int
    bounded: int
    validated: Validated | None = None
    before: Quality | None = None
    after: Quality | None = None

    @property
    def sentence(self) -> str:
        return f"{self.status}: {self.why}"


def judge(collected: Collected, *, folds: int, seed: int, only_certain: bool) -> tuple[Verdict, ...]:
    """For each type that the file has. only_certain: keep what the whole interval speaks for, nothing less."""
    asked = {each.scored.question_type for each in collected.labelled} | {
        each.question_type for each in collected.left_out
    }
    return tuple(
        _judge(name, collected.of_type(name), folds=folds, seed=seed, only_certain=only_certain)
        for name in QUESTION_TYPES
        if name in asked
    )


def temperatures(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Of the kept ones."""
    return {
        each.question_type: each.validated.temperature
        for each in verdicts
        if each.status == KEPT and each.validated is not None
    }


def _judge(name: str, labelled: Sequence[Labelled], *, folds: int, seed: int, only_certain: bool) -> Verdict:
    scored = [each.scored for each in labelled]
    decisions, groups = len(scored), len({each.group for each in scored})
    bounded = sum(each.bounded for each in scored)
    few = too_few(scored, folds=folds)
    if few is not None:
        return Verdict(
            question_type=name, status=NOT_FITTED, why=few, decisions=decisions, groups=groups, bounded=bounded
        )
    found = validate(scored, folds=folds, seed=seed)
    kept = found.certain if only_certain else found.kept
    before = _quality([at_temperature(each, 1.0) for each in labelled], found.nll_before)
    held_out = [at_temperature(each, t) for each, t in zip(labelled, found.of_item, strict=True)]
    after = _quality(held_out, found.nll_after)
    return Verdict(
        question_type=name,
        status=KEPT if kept else NOT_KEPT,
        why=_why(found, only_certain=only_certain) + _side_effects(before, after),
        decisions=decisions,
        groups=groups,
        bounded=bounded,
        validated=found,
        before=before,
        after=after,
    )


def _quality(pairs: Sequence[Answered], nll: float) -> Quality:
    return Quality(negative_log_likelihood=nll, brier=brier(pairs), reliability=reliability(pairs))


def _why(found: Validated, *, only_certain: bool) -> str:
    change = found.improvement
    words = (
        f"on decisions that it was not fitted on the negative log-likelihood goes from {found.nll_before:.4f} to "
        f"{found.nll_after:.4f}, {'better' if change.value > 0 else 'no better'} by {change.value:+.4f} nats "
        f"(95 %: {change.low:+.4f} to {change.high:+.4f})"
    )
    if found.kept and not found.certain:
        words += ", an interval that holds 0: more decisions would tell"
        if only_certain:
            words += ", and only what is certain is kept"
    if found.at_limit:
        words += f"; the best temperature lies beyond {found.temperature:g}, the limit"
    return words


def _side_effects(before: Quality, after: Quality) -> str:
    """What gets worse besides: a likelihood can improve by a few grave errors alone."""
    names = (
        ("Brier score", before.brier, after.brier),
        ("expected calibration error", before.reliability.error, after.reliability.error),
    )
    return "".join(
        f"; the {name} gets worse, {one:.3f} to {two:.3f}"
        for name, one, two in names
        if one is not None and two is not None and two > one
    )
