"""A comparison as JSON. What differs from run to run of the same answers stands under `run` of each contestant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from client.comparison.standings import Standing, Standings
from client.comparison.versus import Flip, Versus

VERSION = 1
NAME = "compare.json"


def document(found: Standings) -> bytes:
    told = {
        "comparison_version": VERSION,
        "data": {
            "name": found.data,
            "sha256": found.data_sha256,
            "items": found.items,
            "groups": found.groups,
        },
        "concurrency": found.concurrency,
        "bootstrap": {"resamples": found.resamples, "seed": found.seed, "over": "groups of paraphrases"},
        "baseline": found.baseline,
        "contestants": [_contestant(row) for row in found.rows],
    }
    return json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False).encode("utf-8") + b"\n"


def _contestant(row: Standing) -> dict[str, Any]:
    summary = asdict(row.summary)
    timing = summary.pop("timing")
    facts = asdict(row.facts)
    peak = facts.pop("peak_bytes")
    return {
        "name": row.name,
        "place": row.contestant.where,
        "wishes": row.contestant.wishes,
        "readouts": list(row.readouts),
        "prompt_versions": list(row.prompt_versions),
        "calibrations": list(row.calibrations),
        "facts": facts,
        "summary": summary,
        "against_baseline": None if row.against is None else _against(row.against),
        "run": {
            "timing": timing,
            "tokens_per_second": row.tokens_per_second,
            "decisions_per_second": row.decisions_per_second,
            "peak_bytes": peak,
        },
    }


def _against(found: Versus) -> dict[str, Any]:
    return {
        "accuracy_difference": asdict(found.difference),
        "certain": found.certain,
        "changed_answers": found.changed,
        "mcnemar_exact_p": found.mcnemar,
        "gained": _flips(found.gained),
        "lost": _flips(found.lost),
    }


def _flips(flips: Sequence[Flip]) -> list[dict[str, Any]]:
    return [
        {
            "id": each.item.id,
            "expected": each.item.expected,
            "baseline": {"answer": each.baseline.answer, "probability": each.baseline.probability},
            "other": {"answer": each.other.answer, "probability": each.other.probability},
        }
        for each in flips
    ]
