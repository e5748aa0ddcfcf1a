"""The report's section on what may be automated."""

from __future__ import annotations

from client.evaluation import plots
from client.evaluation.findings import Findings
from client.evaluation.thresholds import ALL, LEAST, Cut, Threshold
from client.evaluation.words import SPACE, count_of, interval, percent
from client.pages.blocks import Block, Plot, Section, Table, Text

_HEADERS = ("questions", "claim", "abstain_below", "automated", "share", "wrong of those", "95 % interval", "at most")
_LIKELY = "as seen here"
_ASSURED = "assured"


def automation(found: Findings) -> Section:
    curve = Plot(
        svg=plots.risk_coverage(found.pairs, found.summary.whole.accuracy.total, found.thresholds),
        caption="The surest answers first. Dashed: the risk budgets; ● the cut as seen here, ◆ the assured one.",
    )
    explained = Text(
        text=f"“{_LIKELY}”: the lowest cut at which no more than the budget of this set's automated answers are wrong, "
        f"{LEAST} or more being automated. "
        "It was chosen by the answers it is measured on: expect somewhat more errors. "
        f"“{_ASSURED}”: for decisions like these the error is within the budget with 95 % confidence (exact binomial "
        "bounds at ten shares of the answers, each tested at 0.5 %); small sets assure little. Put the cut into "
        "requests as abstain_below (x_abstain_below in System One): answers below it come back as abstained. A claim "
        "holds for its own row."
    )
    tables = [block for risk in dict.fromkeys(each.risk for each in found.thresholds) for block in _budget(found, risk)]
    return Section(heading="What may be automated", blocks=(curve, *tables, explained))


def _budget(found: Findings, risk: float) -> list[Block]:
    """A table of the cuts there are, and a sentence on those there are none of."""
    claims = [claim for each in found.thresholds if each.risk == risk for claim in _claims(each)]
    rows = tuple(_row(scope, claim, cut) for scope, claim, cut in claims if cut is not None)
    lacking = [f"{scope} ({claim})" for scope, claim, cut in claims if cut is None]
    caption = f"Automate at no more than {percent(risk)} errors"
    blocks: list[Block] = []
    if rows:
        blocks.append(Table(caption=caption, headers=_HEADERS, numeric=frozenset(range(2, len(_HEADERS))), rows=rows))
    if lacking:
        start = "No cut for" if rows else f"{caption}: no cut for"
        blocks.append(Text(text=f"{start} {', '.join(lacking)}."))
    return blocks


def lines(thresholds: tuple[Threshold, ...]) -> list[str]:
    """For a terminal: what to put into requests."""
    told = []
    for each in thresholds:
        scope = "all questions" if each.scope == ALL else f"{each.scope} questions"
        for _, claim, cut in _claims(each):
            found = "no cut does" if cut is None else f"abstain_below {cut.abstain_below!r} automates {_shares(cut)}"
            told.append(f"at most {percent(each.risk)} errors, {scope}, {claim}: {found}".replace(SPACE, " "))
    return told


def _shares(cut: Cut) -> str:
    bound = "" if cut.bound is None else f", truly at most {percent(cut.bound)}"
    return f"{percent(cut.automated.value)}, {count_of(cut.wrong)} wrong ({interval(cut.wrong)}{bound})"


def _claims(threshold: Threshold) -> list[tuple[str, str, Cut | None]]:
    return [(threshold.scope, _LIKELY, threshold.likely), (threshold.scope, _ASSURED, threshold.assured)]


def _row(scope: str, claim: str, cut: Cut) -> tuple[str, ...]:
    return (
        scope,
        claim.replace(" ", SPACE),
        repr(cut.abstain_below),
        count_of(cut.automated),
        percent(cut.automated.value),
        count_of(cut.wrong),
        interval(cut.wrong),
        percent(cut.bound),
    )
