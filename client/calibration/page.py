"""A calibration run as one HTML file, and as a table on a terminal. Pure."""

from __future__ import annotations

from client.calibration.plots import before_and_after
from client.calibration.result import Result
from client.calibration.verdicts import KEPT, Quality, Verdict
from client.comparison.cells import NOTHING
from client.evaluation.words import number
from client.pages.blocks import Block, Fact, Facts, Plot, Section, Table, Text
from client.pages.page import render

_HEADERS = ("type", "decisions", "groups", "temperature", "NLL", "ECE", "Brier", "better by (95 %)", "verdict")
_HOW = (
    "One temperature is fitted for each type of question by minimising the negative log-likelihood. Each decision is "
    "then judged with a temperature that was fitted on other decisions only: the set is divided into {folds} folds, "
    "and paraphrases of one decision stay in one fold. All numbers behind an arrow are of such held-out answers; "
    "before it stands temperature 1. A temperature is kept only where the held-out likelihood improves. It changes no "
    "answer's order of options, so accuracy stays as it was."
)


def page(result: Result) -> str:
    kept = [each for each in result.verdicts if each.status == KEPT]
    what = ", ".join(f"{each.question_type} {_temperature(each)}" for each in kept)
    lead = f"Kept: {what}." if kept else "No temperature is kept; no calibration was written."
    return render(
        title=f"Calibration of {result.model} on {result.data}",
        lead=lead,
        sections=(
            Section(heading="Verdict", blocks=(_facts(result), _table(result), Text(text=_how(result)))),
            *(Section(heading=each.question_type, blocks=_blocks(each)) for each in result.verdicts),
            Section(heading="What it is for", blocks=_about(result)),
        ),
    )


def text_table(result: Result) -> str:
    rows = [_HEADERS[:-1], *(_cells(each) for each in result.verdicts)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    sentences = [f"{each.question_type}: {each.sentence}" for each in result.verdicts]
    return "\n".join([*table, "", *sentences])


def _facts(result: Result) -> Facts:
    return Facts(
        facts=tuple(
            Fact(
                name=each.question_type,
                value=_temperature(each) if each.status == KEPT else each.status,
                note="temperature, kept" if each.status == KEPT else "",
                good=True if each.status == KEPT else None,
            )
            for each in result.verdicts
        )
    )


def _table(result: Result) -> Table:
    rows = tuple((*_cells(each), each.status) for each in result.verdicts)
    return Table(headers=_HEADERS, rows=rows, numeric=frozenset(range(1, 8)))


def _cells(verdict: Verdict) -> tuple[str, ...]:
    before, after, found = verdict.before, verdict.after, verdict.validated
    counts = (verdict.question_type, str(verdict.decisions), str(verdict.groups), _temperature(verdict))
    if before is None or after is None or found is None:
        return (*counts, NOTHING, NOTHING, NOTHING, NOTHING)
    change = found.improvement
    return (
        *counts,
        f"{before.negative_log_likelihood:.3f} → {after.negative_log_likelihood:.3f}",
        f"{number(before.reliability.error)} → {number(after.reliability.error)}",
        f"{number(before.brier)} → {number(after.brier)}",
        f"{change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})",
    )


def _temperature(verdict: Verdict) -> str:
    return NOTHING if verdict.validated is None else f"{verdict.validated.temperature:.4g}"


def _blocks(verdict: Verdict) -> tuple[Block, ...]:
    told = Text(text=f"{verdict.sentence[0].upper()}{verdict.sentence[1:]}.")
    if verdict.before is None or verdict.after is None or verdict.validated is None:
        return (told,)
    folds = ", ".join(f"{each:.4g}" for each in verdict.validated.fold_temperatures)
    blocks: list[Block] = [
        told,
        Plot(
            svg=before_and_after(
                verdict.question_type, verdict.before.reliability.bins, verdict.after.reliability.bins
            ),
            caption="On the dashed line, what is stated is what happens; below it, answers are surer than they are "
            "right. Bars are 95 % Wilson intervals.",
        ),
        Text(text=f"Temperatures of the folds: {folds}. How far they lie apart shows how well the set determines one."),
        _bins(verdict.before, verdict.after),
    ]
    if verdict.bounded:
        blocks.append(
            Text(
                text=f"{verdict.bounded} answers state 0 for some option. Its score is taken at the bound of what a "
                "double can say, so the temperature is, if anything, too low."
            )
        )
    return tuple(blocks)


def _bins(before: Quality, after: Quality) -> Table:
    rows = []
    for one, two in zip(before.reliability.bins, after.reliability.bins, strict=True):
        if one.right.total or two.right.total:
            cells = [f"{100 * one.low:.0f}–{100 * one.high:.0f} %"]
            for each in (one, two):
                told = NOTHING if each.mean is None else f"{100 * each.mean:.1f} %"
                right = NOTHING if each.right.value is None else f"{100 * each.right.value:.1f} %"
                cells += [str(each.right.total), told, right]
            rows.append(tuple(cells))
    headers = ("stated", "n before", "mean", "right", "n after", "mean", "right")
    return Table(headers=headers, rows=tuple(rows), numeric=frozenset(range(1, 7)))


def _how(result: Result) -> str:
    return _HOW.format(folds=result.folds)


def _about(result: Result) -> tuple[Block, ...]:
    rows = [
        ("weights, sha256", result.gguf_sha256),
        ("readout", result.readout),
        ("prompt version", result.prompt_version),
        ("decisions", f"{result.data}, sha256 {result.data_sha256}"),
        ("asked at", result.target),
        (
            "answers came at temperature",
            ", ".join(f"{each:g}" for each in result.served_at) + " (undone before the fit)",
        ),
    ]
    if result.artefact is not None:
        rows.insert(0, ("version", result.artefact.version))
    rows += [(f"left out, {each.question_type}", f"{each.count}: {each.reason}") for each in result.left_out]
    blocks: list[Block] = [Table(headers=("", ""), rows=tuple(rows), stacked=True)]
    if result.serves != (result.readout, result.prompt_version):
        blocks.append(
            Text(
                text=f"The server that was asked answers by {result.serves[0]} with {result.serves[1]} by default and "
                "would refuse this calibration at its start. Set DECISION_READOUT and DECISION_PROMPT_VERSION, or "
                "package the model with these defaults."
            )
        )
    return tuple(blocks)
