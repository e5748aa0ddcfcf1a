"""Lines of cells as columns of a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Equally many cells a line, the heading among the lines. The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths).rstrip() for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if place else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest])
