"""Reading a file of labelled decisions: JSON Lines, each told by its keys (`item_lines`), or CSV (`item_rows`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from client.errors import Refused
from client.evaluation import item_lines, item_rows
from client.evaluation.item import Item
from client.json_lines import BadLine

__all__ = ["Item", "ItemSet", "read", "read_set"]

MAX_PROBLEMS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class ItemSet:
    """name: for people. sha256: of the file, by which a run knows that it goes on with the same one."""

    name: str
    sha256: str
    items: tuple[Item, ...]


def read(path: Path) -> tuple[Item, ...]:
    """In the file's order. Raises Refused with every line that is no labelled decision, and why."""
    return read_set(path).items


def read_set(path: Path) -> ItemSet:
    """Raises Refused, as `read`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}. Remedy: name a file of labelled decisions") from error
    lines = item_rows.read(content) if path.suffix.lower() == ".csv" else item_lines.read(content)
    items, problems = _collected(lines)
    if problems:
        shown = [*problems[:MAX_PROBLEMS_SHOWN], *(["  …"] if len(problems) > MAX_PROBLEMS_SHOWN else [])]
        count = f"{len(problems)} line{'s are' if len(problems) > 1 else ' is'} no labelled decision"
        raise Refused(f"{path}: {count}; nothing was asked\n" + "\n".join(shown))
    if not items:
        raise Refused(f"{path}: no labelled decision in it. Remedy: one a line; docs/evaluation.md says how")
    return ItemSet(name=path.stem, sha256=hashlib.sha256(content).hexdigest(), items=tuple(items))


def _collected(lines: Iterator[tuple[int, Sequence[Item] | BadLine]]) -> tuple[list[Item], list[str]]:
    items: list[Item] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, found in lines:
        if isinstance(found, BadLine):
            problems.append(f"  line {number}: {found}")
            continue
        for item in found:
            if item.id in seen:
                there = f"stands in line {seen[item.id]} too; give each an id of its own"
                problems.append(f"  line {number}: id: {item.id[:60]!r} {there}")
            seen.setdefault(item.id, number)
            items.append(item)
    return items, problems
