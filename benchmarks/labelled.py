"""Reads labelled questions, one JSON object a line, as decisions whose right option is known.

A line: {"id", "state", "question": {"type", "instructions", "criteria"}, "labels": [option ids], "expected": an id}.
Types as in the wire contract, section 4: `noul` becomes two options with the texts of its criteria, `score` an option a
level. Options stand in the order of `labels`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decision_server.decisions import Decision, Option


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """expected: index of the right option."""

    decision: Decision
    expected: int

    @property
    def kind(self) -> str:
        return self.decision.question_type


def read_labelled(path: Path) -> list[Labelled]:
    """Raises ValueError that names the line."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                found.append(_labelled(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: {type(error).__name__}: {error}") from error
    if not found:
        raise ValueError(f"{path}: no questions; one JSON object a line is needed")
    return found


def _labelled(row: Mapping[str, Any]) -> Labelled:
    question = row["question"]
    ids = [str(label) for label in row["labels"]]
    texts = _texts(question["type"], question["criteria"], ids)
    return Labelled(
        decision=Decision(
            id=row["id"],
            state=row["state"],
            question=question["instructions"],
            options=tuple(Option(id=id_, description=text) for id_, text in zip(ids, texts, strict=True)),
            question_type=question["type"],
        ),
        expected=ids.index(str(row["expected"])),
    )


def _texts(kind: str, criteria: Any, ids: list[str]) -> list[str]:
    if kind == "choice":
        return [criteria[id_] or id_ for id_ in ids]
    if kind == "noul":
        return [criteria[{"yes": "true", "no": "false"}[id_]] for id_ in ids]
    if kind == "score":
        return list(criteria)
    raise ValueError(f"question type {kind!r}; choice, noul or score is needed")
