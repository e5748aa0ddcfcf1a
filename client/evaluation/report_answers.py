"""The report's sections on single answers: the wrong ones, the surest first, and those that did not come."""

from __future__ import annotations

from client.evaluation.findings import Findings
from client.evaluation.words import option_of, percent, question_of, text_of
from client.pages.blocks import Block, Section, Table, Text

SHOWN = 20


def answers(found: Findings) -> list[Section]:
    wrong, none = found.wrongest, found.unanswered
    more = f" The surest {SHOWN} of {len(wrong)}." if len(wrong) > SHOWN else ""
    table = Table(
        headers=("id", "state", "question", "expected", "given"),
        stacked=True,
        rows=tuple(
            (
                pair.item.id,
                text_of(pair.item.state),
                question_of(pair.item),
                f"{option_of(pair.item, pair.item.expected)}\n{percent(pair.given.of(pair.item.expected))}",
                f"{option_of(pair.item, pair.given.top)}\n{percent(pair.given.top_probability)}",
            )
            for pair in wrong[:SHOWN]
        ),
    )
    blocks: tuple[Block, ...] = (
        (Text(text=f"Errors of the model, or of a label.{more}"), table) if wrong else (Text(text="None was wrong."),)
    )
    sections = [Section(heading="The wrongest answers", blocks=blocks)]
    if none:
        rows = tuple((each.item_id, each.why) for each in none)
        sections.append(
            Section(heading="Not answered", blocks=(Table(headers=("id", "why"), rows=rows, stacked=True),))
        )
    return sections
