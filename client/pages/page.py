"""Blocks → one HTML file: its style and plots are inside, there is no script, and nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from client.pages.blocks import Section

_FOLDER = Path(__file__).parent
_TEMPLATES = Environment(
    loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def render(*, title: str, lead: str, sections: Sequence[Section]) -> str:
    """title: of the page, too. lead: what it says in a sentence or two."""
    style = (_FOLDER / "style.css").read_text(encoding="utf-8")
    return _TEMPLATES.get_template("page.html").render(title=title, lead=lead, sections=sections, style=style)
