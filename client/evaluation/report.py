"""The report for people, as a page's sections."""

from __future__ import annotations

from client.evaluation import plots
from client.evaluation.findings import Findings
from client.evaluation.metrics import Part
from client.evaluation.report_answers import answers
from client.evaluation.report_thresholds import automation
from client.evaluation.report_times import at_once, times
from client.evaluation.report_trust import calibration, stability
from client.evaluation.words import count_of, interval, number, percent, seconds
from client.pages.blocks import Block, Fact, Facts, Plot, Section, Table, Text
from client.pages.page import render

NAME = "report.html"
_PART_HEADERS = ("", "right", "accuracy", "95 % interval", "answered", "Brier", "NLL", "ECE")


def report_html(found: Findings) -> str:
    whole = found.summary.whole
    lead = (
        f"{found.settings.target}, asked {whole.accuracy.total} labelled decisions of {found.settings.data}: "
        f"{percent(whole.accuracy.value)} right; of decisions like these, {interval(whole.accuracy)} (95 % interval)."
    )
    sections = [_glance(found), _accuracy(found), calibration(found), automation(found), stability(found)]
    sections += [times(found), *answers(found), _setup(found), _formulas(found)]
    return render(title=f"Evaluation of {found.settings.data}", lead=lead, sections=sections)


def _glance(found: Findings) -> Section:
    summary, whole = found.summary, found.summary.whole
    passed = {check.flag: check for check in found.checks}

    def fact(name: str, value: str, note: str, flag: str = "") -> Fact:
        check = passed.get(flag)
        limit = f"; limit {check.limit:g}: {'kept' if check.passed else 'not kept'}" if check else ""
        return Fact(name=name, value=value, note=f"{note}{limit}", good=check.passed if check else None)

    facts = (
        fact("Accuracy", percent(whole.accuracy.value), interval(whole.accuracy), "--min-accuracy"),
        fact("Answered", percent(whole.validity.value), count_of(whole.validity), "--min-answered"),
        fact("Calibration error", number(whole.calibration_error), "ECE, 0 is best", "--max-ece"),
        fact("Negative log-likelihood", number(whole.negative_log_likelihood), "0 is best"),
        fact("Brier score", number(whole.brier), "0 to 2, 0 is best"),
        fact("p95", seconds(summary.timing.p95), f"p50 {seconds(summary.timing.p50)}", "--max-p95"),
    )
    return Section(heading="At a glance", blocks=(Facts(facts=facts),))


def _accuracy(found: Findings) -> Section:
    summary = found.summary
    blocks: list[Block] = []
    if summary.by_family:
        caption = "Bars: right answers; lines: 95 % intervals; dashed: all. In brackets, how many were asked."
        blocks.append(Plot(svg=plots.accuracy_bars(summary.by_family, summary.whole), caption=caption))
        blocks.append(_parts("By family", (*summary.by_family, summary.whole)))
    blocks.append(_parts("By type of question", summary.by_type))
    if summary.by_language:
        blocks.append(_parts("By language", summary.by_language))
    return Section(heading="Accuracy", blocks=tuple(blocks))


def _parts(caption: str, parts: tuple[Part, ...]) -> Table:
    return Table(
        caption=caption,
        headers=_PART_HEADERS,
        numeric=frozenset(range(1, len(_PART_HEADERS))),
        rows=tuple(
            (
                part.name or "(none)",
                count_of(part.accuracy),
                percent(part.accuracy.value),
                interval(part.accuracy),
                percent(part.validity.value, 0),
                number(part.brier),
                number(part.negative_log_likelihood),
                number(part.calibration_error),
            )
            for part in parts
        ),
    )


def _setup(found: Findings) -> Section:
    settings = found.settings
    said = Table(
        headers=("", ""),
        rows=(
            ("target", settings.target + (f", sha256 {settings.target_sha256}" if settings.target_sha256 else "")),
            ("settings of its server", ", ".join(settings.server_settings) or "(its own)"),
            ("readout, prompt version asked for", f"{settings.readout or 'none'}, {settings.prompt_version or 'none'}"),
            ("asked at once", at_once(found)),
            ("data", f"{settings.data}, sha256 {settings.data_sha256}"),
        ),
        stacked=True,
    )
    headers = ("type", "model", "readout", "prompt version", "temperature", "calibration", "answers")
    rows = tuple(
        (
            each.question_type,
            each.model,
            each.readout,
            each.prompt_version,
            f"{each.temperature:g}",
            each.calibration_version or "none",
            str(each.answers),
        )
        for each in found.setups
    )
    seen = Table(caption="As the answers say", headers=headers, rows=rows, numeric=frozenset({4, 6}))
    return Section(heading="What was asked", blocks=(said, seen))


def _formulas(found: Findings) -> Section:
    floored = found.summary.whole.floored
    texts = (
        "Accuracy: right answers of all that were asked; one without a valid answer counts as wrong. Intervals: Wilson "
        "score, 95 %. The rest is over valid answers alone.",
        "Brier score: mean Σₖ (pₖ − yₖ)² over all options, 0 to 2 (Brier 1950). Negative log-likelihood (NLL): mean "
        f"−ln p of the expected option, p no less than 2⁻⁵²; {floored} answers were below.",
        "Calibration error (ECE): Σ n_b/n · |share right − mean top probability| over ten bins of equal width (Guo et "
        "al. 2017).",
    )
    return Section(heading="How the numbers are made", blocks=tuple(Text(text=text) for text in texts))
