"""The page before the readouts' own reports: the table, the plot, and each readout against the first, in pairs."""

from __future__ import annotations

from collections.abc import Sequence

from client.calibration.verdicts import Verdict
from client.comparison.versus import Versus
from client.evaluation.item import Item
from client.evaluation.words import percent
from client.pages.blocks import Link, Links, Plot, Section, Table, Text
from client.pages.page import render
from client.readouts.document import Measured
from client.readouts.rows import Row, guessing
from client.readouts.table import cells

NAME = "index.html"


def page(
    measured: Measured,
    rows: Sequence[Row],
    items: Sequence[Item],
    *,
    against: Sequence[Versus],
    verdicts: Sequence[tuple[str, Verdict]],
    svg: str,
) -> str:
    """verdicts: of a calibration, each with its readout's name."""
    best = max(rows, key=lambda row: row.whole.accuracy.count)
    right, chance = percent(best.whole.accuracy.value, 0), percent(guessing(items), 0)
    head, *body = cells(rows, items)
    sections = [
        Section(
            heading="By readout",
            blocks=(
                Table(headers=tuple(head), rows=tuple(map(tuple, body)), numeric=frozenset(range(1, len(head)))),
                Text(
                    text="right: of all that were asked, with the 95 % interval. ECE: expected calibration error, 10 "
                    "equal bins; NLL: mean −ln of the right option's probability; both are better the nearer to 0. "
                    "Calibrated: each answer by a temperature that was fitted on others (5 folds). Paraphrase: pairs "
                    "with one answer to both wordings, right or wrong. Order: choices answered otherwise when their "
                    "options are listed the other way round."
                ),
                Plot(svg=svg[svg.index("<svg") :], wide=True),
                Links(
                    text="Each readout's own report:",
                    links=tuple(Link(text=each, to=f"{each}/report.html") for each in _readouts(rows)),
                ),
            ),
        ),
        Section(heading="In pairs", blocks=tuple(Text(text=difference(each)) for each in against)),
        Section(
            heading="Calibration",
            blocks=tuple(
                Text(text=f"{readout}, {verdict.question_type}: {verdict.sentence}") for readout, verdict in verdicts
            ),
        ),
    ]
    lead = (
        f"{measured.model} on the {len(items)} labelled decisions of {measured.data}: "
        f"{right} right by {best.readout}, where guessing gets {chance}."
    )
    return render(title=f"{measured.model} by every readout", lead=lead, sections=sections)


def difference(against: Versus) -> str:
    """One sentence, in percentage points."""
    found = against.difference
    return (
        f"{against.other} against {against.baseline}: {100 * found.value:+.0f} points (95 %: {100 * found.low:+.0f} to "
        f"{100 * found.high:+.0f}); only {against.other} is right on {len(against.gained)}, only {against.baseline} on "
        f"{len(against.lost)}"
    )


def _readouts(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.readout for row in rows))
