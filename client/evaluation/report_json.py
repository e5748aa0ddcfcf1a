"""The report for programs. The same answers give the same bytes, but for what stands under `run`: all that is a matter
of time, of the cache and of the price, and what follows from it.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from client.evaluation.findings import Findings

VERSION = 1
NAME = "report.json"


def report_json(found: Findings) -> bytes:
    summary = asdict(found.summary)
    timing = summary.pop("timing")
    told = {
        "report_version": VERSION,
        "settings": asdict(found.settings),
        "setups": [asdict(each) for each in found.setups],
        "summary": summary,
        "thresholds": [asdict(each) for each in found.thresholds],
        "wrong": [
            {
                "id": pair.item.id,
                "expected": pair.item.expected,
                "given": pair.given.top,
                "probability": pair.given.top_probability,
                "probability_of_expected": pair.given.of(pair.item.expected),
            }
            for pair in found.wrongest
        ],
        "unanswered": [{"id": each.item_id, "error": each.why} for each in found.unanswered],
        "run": {
            "timing": timing,
            "checks": [asdict(each) for each in found.checks],
        },
    }
    return json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False).encode("utf-8") + b"\n"
