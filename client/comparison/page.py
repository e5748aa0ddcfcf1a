"""A comparison as one HTML file. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from client.comparison.cells import PRICE, QUALITY, Column, points, shown
from client.comparison.plots import differences, quality_and_time
from client.comparison.standings import Standing, Standings
from client.comparison.versus import Flip, Verdict, Versus
from client.evaluation.words import NONE, option_of, percent, question_of, text_of
from client.pages.blocks import Block, Plot, Section, Table, Text
from client.pages.page import render

NAME = "compare.html"
_MOST_FLIPS = 40  # on the page; compare.json has all
_REQUANTISED = (
    "Files made anew from a quantised one, such as Q4_0 from Q8_0 or Q8_0 from Q4_1, carry the loss of both steps, and "
    "more bits than the source had bring no quality back. Such files show the speed, memory and size of a type; how "
    "good a type is, only files quantised from F16, BF16 or F32 can show."
)


def page(found: Standings) -> str:
    compared = [row for row in found.rows if row.against is not None]
    certain = [row.name for row in compared if row.against is not None and row.against.certain]
    said = (
        f"Surely other than {found.baseline} in accuracy: {', '.join(certain)}."
        if certain
        else f"On this set, none is surely better or worse than {found.baseline} in accuracy."
    )
    lead = f"{len(found.rows)} contestants, {found.items} labelled decisions in {found.groups} groups. {said}"
    return render(
        title=f"Comparison on {found.data}",
        lead=lead,
        sections=(
            Section(heading="Side by side", blocks=_side_by_side(found)),
            *(Section(heading=f"{row.name} against {found.baseline}", blocks=_against(row)) for row in compared),
            Section(heading="Who they are", blocks=(_who(found.rows), Text(text=_REQUANTISED))),
            Section(heading="What the numbers mean", blocks=_meaning(found)),
        ),
    )


def _side_by_side(found: Standings) -> tuple[Block, ...]:
    blocks: list[Block] = [
        _table(QUALITY, found.rows),
        _table(PRICE, found.rows),
        Plot(
            svg=differences(found.rows, found.baseline),
            caption="An interval that crosses the dashed line leaves open which of the two is better.",
        ),
    ]
    time = quality_and_time(found.rows)
    if time is not None:
        blocks.append(Plot(svg=time, caption="Up and to the left is better. Bars are 95 % Wilson intervals."))
    if types := _by_type(found.rows):
        blocks.append(types)
    return tuple(blocks)


def _table(columns: Sequence[Column], rows: Sequence[Standing]) -> Table:
    told = shown(columns, rows)
    return Table(
        headers=tuple(column.heading for column in told),
        rows=tuple(tuple(column.cell(row) for column in told) for row in rows),
        numeric=frozenset(range(1, len(told))),
    )


def _by_type(rows: Sequence[Standing]) -> Table | None:
    """Accuracy of each type of question; None where there is one type only."""
    names = list(dict.fromkeys(part.name for row in rows for part in row.summary.by_type))
    if len(names) < 2:
        return None
    cells = []
    for row in rows:
        parts = {part.name: part.accuracy for part in row.summary.by_type}
        cells.append((row.name, *(percent(parts[name].value) if name in parts else NONE for name in names)))
    return Table(
        caption="Accuracy by type of question",
        headers=("contestant", *names),
        rows=tuple(cells),
        numeric=frozenset(range(1, len(names) + 1)),
    )


def _against(row: Standing) -> tuple[Block, ...]:
    found = row.against
    if found is None:
        return ()
    blocks: list[Block] = [Text(text=_sentence(found))]
    for flips, caption in (
        (found.gained, f"Right by {found.other}, wrong by {found.baseline}: {len(found.gained)}"),
        (found.lost, f"Wrong by {found.other}, right by {found.baseline}: {len(found.lost)}"),
    ):
        if flips:
            more = f"; the first {_MOST_FLIPS}, all are in compare.json" if len(flips) > _MOST_FLIPS else ""
            blocks.append(_flips(flips[:_MOST_FLIPS], found, caption + more))
    return tuple(blocks)


def _sentence(found: Versus) -> str:
    sure = "the interval leaves 0 out" if found.certain else "the interval holds 0: chance alone could do that"
    return (
        f"Accuracy {points(found)} percentage points (paired 95 % interval; {sure}). Of {found.items} decisions "
        f"{found.changed} are answered otherwise: {len(found.gained)} become right, {len(found.lost)} become wrong. "
        f"McNemar's exact p is {found.mcnemar:.3f}, which takes paraphrases as independent."
    )


def _flips(flips: Sequence[Flip], found: Versus, caption: str) -> Table:
    return Table(
        caption=caption,
        headers=("decision", "state and question", "expected", found.baseline, found.other),
        rows=tuple(
            (
                each.item.id,
                f"{text_of(each.item.state, 300)}\n{question_of(each.item)}",
                option_of(each.item, each.item.expected),
                _answer(each.baseline),
                _answer(each.other),
            )
            for each in flips
        ),
        stacked=True,
    )


def _answer(verdict: Verdict) -> str:
    if verdict.answer is None:
        return "no valid answer"
    return f"{verdict.answer} ({percent(verdict.probability, 0)})"


def _who(rows: Sequence[Standing]) -> Table:
    return Table(
        headers=("contestant", "place", "answered by", "weights, sha256", "engine"),
        rows=tuple(
            (
                row.name,
                f"{row.contestant.where}\n{row.contestant.wishes}".strip(),
                "; ".join((*row.readouts, *row.prompt_versions, *(f"calibration {each}" for each in row.calibrations))),
                NONE if row.facts.gguf_sha256 is None else f"{row.facts.gguf_sha256[:16]}…",
                _engine(row),
            )
            for row in rows
        ),
        stacked=True,
    )


def _engine(row: Standing) -> str:
    facts = row.facts
    told = (
        facts.llama_cpp,
        None if facts.n_threads is None else f"{facts.n_threads} threads",
        None if facts.n_gpu_layers is None else f"{facts.n_gpu_layers} layers on a GPU",
    )
    return ", ".join(each for each in told if each is not None) or NONE


def _at_once(found: Standings) -> str:
    """Of each where they are not the same."""
    seen = {row.name: row.summary.timing.concurrencies or (found.concurrency,) for row in found.rows}
    if len(set(seen.values())) == 1:
        return ", then ".join(map(str, next(iter(seen.values()))))
    return "; ".join(f"{name} {', then '.join(map(str, counts))}" for name, counts in seen.items())


def _meaning(found: Standings) -> tuple[Block, ...]:
    columns = tuple(
        (column.heading, column.title)
        for columns in (QUALITY, PRICE)
        for column in shown(columns, found.rows)
        if column.title
    )
    return (
        Table(headers=("column", "meaning"), rows=columns, stacked=True),
        Text(
            text=f"The interval of a difference is a paired bootstrap: {found.resamples:,} times as many groups of "
            f"paraphrases as there are ({found.groups}) are drawn with replacement, with seed {found.seed}, and the "
            "middle 95 % of the differences are taken. A decision without a valid answer counts as wrong. Each "
            f"contestant was asked alone, {_at_once(found)} at once; a local model in processes of its own, which "
            "ended before the next one began. Times hold for the machine that they were measured on."
        ),
    )
