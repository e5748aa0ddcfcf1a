"""What the names of weights files say: which part of a split model one is, and which are no language model at all.

The rule is llama.cpp's: `NAME-00001-of-00003.gguf`, and the parts stand beside each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

MOST_PARTS = 99
_PART = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf")


@dataclass(frozen=True, kw_only=True)
class PartName:
    """number: from 1 to count."""

    stem: str
    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.stem}-{self.number:05}-of-{self.count:05}.gguf"


def part_name(path: str) -> PartName | None:
    """None for the name of a whole model."""
    match = _PART.fullmatch(PurePosixPath(path).name)
    if match is None:
        return None
    return PartName(stem=match["stem"], number=int(match["number"]), count=int(match["count"]))


def all_parts(first: PartName) -> list[str]:
    """The names of all parts, in order."""
    return [str(PartName(stem=first.stem, number=each + 1, count=first.count)) for each in range(first.count)]


def is_projector(path: str) -> bool:
    """mmproj-*.gguf and *-mmproj-*.gguf: what makes tokens of pictures and sounds for a multimodal model."""
    return "mmproj" in PurePosixPath(path).name.lower()


PROJECTOR_REASON = (
    "a projector of pictures or sounds (mmproj), which no decision over text uses, and which llama.cpp would take for "
    "the model where its name comes first; give the language model's file"
)
