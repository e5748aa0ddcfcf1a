"""What a page is made of. Values of plain text, but for a plot's SVG; the page escapes what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Text:
    text: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A number that a reader looks for first. note: below it, small. good: False marks it as failed, True as passed."""

    name: str
    value: str
    note: str = ""
    good: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """numeric: the columns, from 0, that are set to the right. stacked: on a narrow screen each row becomes a card;
    for tables with long texts. The first column names its row.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    stacked: bool = False
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """svg: made by `client.pages.plots.to_svg`, and trusted as it is. wide: drawn for the whole width of a page."""

    svg: str
    caption: str = ""
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class Link:
    """to: a file beside the page, by its path from there."""

    text: str
    to: str


@dataclass(frozen=True, kw_only=True)
class Links:
    """text: before them."""

    text: str
    links: tuple[Link, ...]


Block: TypeAlias = "Text | Facts | Table | Plot | Links"


@dataclass(frozen=True, kw_only=True)
class Section:
    heading: str
    blocks: tuple[Block, ...]
