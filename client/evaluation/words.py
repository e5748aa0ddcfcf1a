"""Numbers and questions as a reader wants to see them."""

from __future__ import annotations

import json

from client.decisions import Choice, Decision, JsonValue, Noul
from client.evaluation.intervals import Share
from client.evaluation.item import Item

NONE = "–"
SPACE = "\u00a0"  # a number and its sign stay together


def percent(value: float | None, digits: int = 1) -> str:
    return NONE if value is None else f"{value * 100:.{digits}f}{SPACE}%"


def number(value: float | None, digits: int = 3) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def count_of(share: Share) -> str:
    return f"{share.count} of {share.total}"


def interval(share: Share) -> str:
    if share.low is None or share.high is None:
        return NONE
    return f"{share.low * 100:.1f} to {share.high * 100:.1f}{SPACE}%"


def text_of(value: JsonValue, most: int = 600) -> str:
    """most: characters; what is left out is marked."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most} more characters)"


def question_of(item: Item) -> str:
    if isinstance(item.question, Decision):
        return item.question.question
    asked = item.question.instructions
    return NONE if asked is None else text_of(asked)


def option_of(item: Item, option_id: str) -> str:
    """The id, with what it means where that is short."""
    match item.question:
        case Decision():
            described: JsonValue = next(each.description for each in item.question.options if each.id == option_id)
        case Choice():
            described = item.question.options[option_id]
        case Noul():
            described = item.question.true if option_id == "yes" else item.question.false
        case _:
            described = item.question.levels[int(option_id)]
    return option_id if described is None else f"{option_id}: {text_of(described, 160)}"
