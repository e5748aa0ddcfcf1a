"""docs/decisions: each hard choice has a number of its own, and says it first."""

from __future__ import annotations

import re
from pathlib import Path

DECISIONS = Path(__file__).resolve().parents[2] / "docs" / "decisions"


def test_each_decision_has_its_own_number_in_name_and_title() -> None:
    files = sorted(DECISIONS.glob("*.md"))
    numbers = [int(file.name[:4]) for file in files]
    assert numbers == list(range(1, len(files) + 1))
    for number, file in zip(numbers, files, strict=True):
        title = file.read_text().splitlines()[0]
        assert re.match(rf"# {number}\. \S", title), f"{file.name}: {title}"
