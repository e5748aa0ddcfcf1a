"""The report's sections on whether probabilities mean what they say, and whether answers hold still."""

from __future__ import annotations

from client.evaluation import plots
from client.evaluation.findings import Findings
from client.evaluation.words import count_of, interval, number, percent
from client.pages.blocks import Plot, Section, Table, Text


def calibration(found: Findings) -> Section:
    """Left out of the table: bins without answers."""
    filled = [each for each in found.summary.reliability if each.mean is not None]
    return Section(
        heading="Calibration",
        blocks=(
            Plot(
                svg=plots.reliability_diagram(found.summary.reliability),
                caption="Points on the dashed line are well calibrated; below it, answers are surer than they are "
                "right. Lines: 95\u00a0% intervals; n: answers of each bin.",
            ),
            Table(
                headers=("top probability", "answers", "mean", "right", "95 % interval"),
                numeric=frozenset({1, 2, 3, 4}),
                rows=tuple(
                    (
                        f"{each.low:.1f} to {each.high:.1f}",
                        str(each.right.total),
                        percent(each.mean),
                        percent(each.right.value),
                        interval(each.right),
                    )
                    for each in filled
                ),
            ),
        ),
    )


def stability(found: Findings) -> Section:
    summary, rows = found.summary, []
    if (said := summary.paraphrases) is not None:
        rows.append(("Paraphrases: groups of one answer", percent(said.groups.value), count_of(said.groups)))
        rows.append(("Paraphrases: pairs of one answer", percent(said.pairs.value), count_of(said.pairs)))
    if (turned := summary.flips) is not None:
        rows.append(("Options reversed: answer changed", percent(turned.flipped.value), count_of(turned.flipped)))
        rows.append(("Options reversed: probability moved by", number(turned.moved), "mean of the largest move"))
    if (off := summary.ordinal) is not None:
        rows.append(("Levels off: most probable level", number(off.of_mode), f"mean of {off.count} score questions"))
        rows.append(("Levels off: expected level", number(off.of_mean), f"mean of {off.count} score questions"))
    if (mass := summary.label_mass) is not None:
        rows.append(("Mass on the options, median", number(mass.median), "of the model's own probability"))
        rows.append(("Mass on the options below 0.5", percent(mass.low.value), count_of(mass.low)))
    table = Table(headers=("", "", ""), numeric=frozenset({1}), rows=tuple(rows))
    return Section(heading="Stability", blocks=(table,) if rows else (Text(text="Nothing was answered."),))
