"""Typed answers → bytes (contract 3.2 to 3.4). The same answer gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from decision_server.results import BatchTiming, Result
from decision_server.wire.json_text import json_bytes


def one_answer(result: Result) -> bytes:
    """`{"result"}`."""
    return json_bytes({"result": _result(result)})


def several_answers(results: Sequence[Result], timing: BatchTiming) -> bytes:
    """`{"results", "timing"}`."""
    return json_bytes({"results": [_result(result) for result in results], "timing": asdict(timing)})


def _result(result: Result) -> dict[str, object]:
    table = asdict(result)
    for name in ("rotation_spread", "abstained"):
        if table[name] is None:
            del table[name]
    return table
