"""Matplotlib's figures as SVG to stand in a page: its colours are those of the page, light and dark, and equal figures
give equal bytes.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Matplotlib knows colours, a page has variables: each of these stands for one and is exchanged in the SVG.
INK, MUTED, LINE, PAPER = "#010203", "#010204", "#010205", "#010206"
SERIES: Final = ("#010301", "#010302", "#010303", "#010304", "#010305", "#010306")
_VARIABLES: Final = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    PAPER: "var(--paper)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, start=1)},
}
WIDTH, HEIGHT = 4.8, 3.4  # inches; of 72 units each, and a page shows a unit as a pixel or more
SMALLEST = 10  # units that letters are high, for a reader's eyes on a phone
_STYLE: Final[Any] = {
    "svg.fonttype": "none",  # text stays text: it can be found, copied and read aloud
    "font.size": 10,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "grid.color": LINE,
    "legend.frameon": False,
    "patch.edgecolor": PAPER,
}
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


def figure(*, width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    """In inches. No global state of matplotlib's is touched."""
    with matplotlib.rc_context(_STYLE):
        drawn = Figure(figsize=(width, height), layout="constrained")
        axes = drawn.add_subplot()
        axes.set_axisbelow(True)
    return drawn, axes


def to_svg(drawn: Figure, *, name: str, label: str) -> str:
    """name: unlike that of any other plot on the page; letters and hyphens. label: what a screen reader says of it."""
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = _REFERENCE.sub(rf"\g<1>{name}-", text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    box = re.search(r'viewBox="[^"]+"', text)
    if box is None:
        raise ValueError(f"plot {name}: matplotlib wrote no viewBox")
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {box.group()}'
    return re.sub(r"<svg[^>]*>", f'{opening} role="img" aria-label="{escape(label)}">', text, count=1).strip()
