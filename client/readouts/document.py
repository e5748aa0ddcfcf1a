"""A result as JSON: all that the table and the plot show, what was asked, of which model, and when. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from client.comparison.versus import Versus
from client.evaluation.item import Item
from client.readouts.rows import TYPES, Row, guessing

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Measured:
    """data: the set's name; model: as its answers name it. target, target_sha256: as a journal's. day: of the first
    asking, ISO 8601, UTC. machine: that asked, in words.
    """

    data: str
    data_sha256: str
    model: str
    target: str
    target_sha256: str | None
    day: str
    machine: str


def document(measured: Measured, rows: Sequence[Row], items: Sequence[Item], against: Sequence[Versus]) -> str:
    chance = {each: guessing(items, each) for each in TYPES}
    told: dict[str, Any] = {
        "readouts_version": VERSION,
        **asdict(measured),
        "decisions": len(items),
        "guessing": {"all": guessing(items), **{name: share for name, share in chance.items() if share is not None}},
        "rows": [asdict(row) for row in rows],
        "in_pairs": [_pair(each) for each in against],
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _pair(against: Versus) -> dict[str, Any]:
    return {
        "readout": against.other,
        "against": against.baseline,
        "difference": asdict(against.difference),
        "gained": [flip.item.id for flip in against.gained],
        "lost": [flip.item.id for flip in against.lost],
    }
