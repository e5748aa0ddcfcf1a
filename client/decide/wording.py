"""The words of what was asked, by the answers' names and option ids, to stand beside the answers. Pure.

Reads bodies that a server has answered, so their shape is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Wording:
    """options: id → description, empty where there is none."""

    question: str
    options: Mapping[str, str]


def wordings(body: Mapping[str, Any]) -> dict[str, Wording]:
    """By a decision's id or a question's name."""
    if "questions" in body:
        return {name: _of_question(name, question) for name, question in body["questions"].items()}
    decisions = body["decisions"] if "decisions" in body else [body["decision"]]
    return {
        each["id"]: Wording(
            question=each["question"], options={option["id"]: option["description"] for option in each["options"]}
        )
        for each in decisions
    }


def _of_question(name: str, question: Mapping[str, Any]) -> Wording:
    criteria = question.get("criteria") or {}
    if question["type"] == "noul":
        options = {"yes": criteria.get("true"), "no": criteria.get("false")}
    elif question["type"] == "score":
        options = {str(level): text for level, text in enumerate(criteria)}
    else:
        options = dict(criteria)
    return Wording(
        question=_text(question.get("instructions")) or name,
        options={key: _text(each) for key, each in options.items()},
    )


def _text(content: object) -> str:
    if not content:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
