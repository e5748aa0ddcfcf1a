from __future__ import annotations

import json

import pytest

from benchmarks.fuzz import fault
from benchmarks.fuzz_bodies import Case
from benchmarks.soak import Report

ERROR = {"error": "e", "code": "c", "field": None, "retryable": False, "request_id": "r"}
ANY, VALID = Case(kind="k", body=b"{}"), Case(kind="k", body=b"{}", valid=True)


def answer(*probabilities: float) -> bytes:
    return json.dumps({"results": [{"probabilities": probabilities}]}).encode()


@pytest.mark.parametrize(
    ("case", "status", "body", "named"),
    [
        (ANY, 500, json.dumps(ERROR).encode(), "500"),
        (ANY, 502, b"<html>", "502"),
        (ANY, 400, b"<html>", "not JSON"),
        (ANY, 400, json.dumps({"error": "e"}).encode(), "request_id"),
        (VALID, 400, json.dumps(ERROR).encode(), "refused"),
        (ANY, 200, answer(0.5, 0.6), "probabilities"),
        (ANY, 200, answer(1.5, -0.5), "probabilities"),
        (ANY, 200, b'{"result": {"probabilities": [NaN, 1.0]}}', "probabilities"),
    ],
)
def test_an_answer_that_must_not_be_is_a_fault(case: Case, status: int, body: bytes, named: str) -> None:
    assert named in (fault(case, status, body) or "")


@pytest.mark.parametrize(
    ("case", "status", "body"),
    [
        (VALID, 200, answer(0.25, 0.75)),
        (ANY, 400, json.dumps(ERROR).encode()),
        (VALID, 503, json.dumps(ERROR).encode()),
        (ANY, 504, json.dumps(ERROR).encode()),
    ],
)
def test_an_answer_that_may_be_is_none(case: Case, status: int, body: bytes) -> None:
    assert fault(case, status, body) is None


def test_growth_is_told_from_the_time_after_the_first_fifth() -> None:
    filling = [(count, 10_000_000 * min(1, count // 200)) for count in range(0, 1001, 50)]
    assert Report(samples=filling).growth_per_request == 0
    leaking = [(count, held + 300 * count) for count, held in filling]
    assert Report(samples=leaking).growth_per_request == pytest.approx(300)
