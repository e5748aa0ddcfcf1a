"""All that a comparison says, in one value: a contestant a row, and each against the baseline. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client.comparison.contestants import Contestant
from client.comparison.facts import Facts
from client.comparison.paired import RESAMPLES
from client.comparison.versus import Versus, group_of, verdicts, versus
from client.evaluation.item import Item
from client.evaluation.metrics import Summary, summarise
from client.evaluation.outcomes import Outcome


@dataclass(frozen=True, kw_only=True)
class Run:
    """One contestant's answers to all items."""

    contestant: Contestant
    facts: Facts
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """readouts, prompt_versions: those really used, in order of their first use. calibrations: versions applied.

    tokens_per_second, decisions_per_second: input tokens, and decisions, for each second in which one was under way:
    what the whole way from here to the model gave at this concurrency, tokens out of the cache included.
    """

    contestant: Contestant
    facts: Facts
    summary: Summary
    readouts: tuple[str, ...]
    prompt_versions: tuple[str, ...]
    calibrations: tuple[str, ...]
    tokens_per_second: float | None
    decisions_per_second: float | None
    against: Versus | None

    @property
    def name(self) -> str:
        return self.contestant.name


@dataclass(frozen=True, kw_only=True)
class Standings:
    """In the order of the command line. baseline: the name of the one that the others are held against."""

    data: str
    data_sha256: str
    items: int
    groups: int
    concurrency: int
    seed: int
    resamples: int
    baseline: str
    rows: tuple[Standing, ...]


def standings(
    items: Sequence[Item],
    runs: Sequence[Run],
    *,
    data: str,
    data_sha256: str,
    baseline: str,
    concurrency: int,
    hourly_price: float | None,
    seed: int,
) -> Standings:
    """hourly_price: of contestants without one of their own."""
    judged = {run.contestant.name: verdicts(items, run.outcomes) for run in runs}
    rows = []
    for run in runs:
        name = run.contestant.name
        price = run.contestant.hourly_price
        against = None
        if name != baseline:
            against = versus(items, judged[baseline], judged[name], names=(baseline, name), seed=seed)
        summary = summarise(items, run.outcomes, hourly_price=hourly_price if price is None else price)
        rows.append(_standing(run, summary, against))
    return Standings(
        data=data,
        data_sha256=data_sha256,
        items=len(items),
        groups=len({group_of(item) for item in items}),
        concurrency=concurrency,
        seed=seed,
        resamples=RESAMPLES,
        baseline=baseline,
        rows=tuple(rows),
    )


def _standing(run: Run, summary: Summary, against: Versus | None) -> Standing:
    given = [outcome.answer for outcome in run.outcomes if outcome.answer is not None]
    timing = summary.timing
    seconds = timing.busy_seconds
    return Standing(
        contestant=run.contestant,
        facts=run.facts,
        summary=summary,
        readouts=tuple(dict.fromkeys(each.readout for each in given)),
        prompt_versions=tuple(dict.fromkeys(each.prompt_version for each in given)),
        calibrations=tuple(dict.fromkeys(v for each in given if (v := each.calibration_version) is not None)),
        tokens_per_second=timing.input_tokens / seconds if timing.input_tokens and seconds else None,
        decisions_per_second=timing.decisions / seconds if timing.decisions and seconds else None,
        against=against,
    )
