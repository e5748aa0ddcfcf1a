"""What the log says of a request: what an operator plots, nothing that a caller wrote, nothing that is not known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decision_server.metrics import Metrics
from decision_server.request_log import RequestLog, answer_facts
from decision_server.results import BatchTiming, CalibrationUsed, Gguf, Model, Result, Timing
from decision_server.scoring import PrefixCounters
from decision_server.wire.dialects import Dialect

SECRET = "the caller's confidential sentence"
MODEL = Model(
    name="m",
    gguf=Gguf(file="m.gguf", bytes=1, sha256="0" * 64),
    repo=None,
    revision=None,
    llama_cpp="fake",
    n_ctx=64,
    n_threads=1,
    n_gpu_layers=0,
    prefix_reuse="none",
)


def result(**changes: Any) -> Result:
    given: dict[str, Any] = {
        "id": SECRET,
        "option_ids": (SECRET, "b"),
        "probabilities": (0.75, 0.25),
        "option_logits": (1.0, 0.0),
        "answer_token_ids": (1, 2),
        "input_tokens": 10,
        "allowed_token_mass": 0.5,
        "full_vocab_argmax_id": 1,
        "prompt_sha256": "0" * 64,
        "prompt_version": "v",
        "readout": "letters",
        "probability_status": "uncalibrated",
        "calibration": CalibrationUsed(status="none", version=None, temperature=1.0),
        "warnings": (SECRET,),
        "model": MODEL,
        "timing": Timing(queue_seconds=0, encode_seconds=0, forward_seconds=0, total_seconds=0, cached_tokens=0),
    }
    return Result(**given | changes)


def timing(**changes: Any) -> BatchTiming:
    given: dict[str, Any] = {
        "queue_seconds": 0.00001,
        "encode_seconds": 0.002,
        "forward_seconds": 1.23456,
        "total_seconds": 2.0,
        "batch_size": 2,
        "prefix_tokens": 0,
        "prefill_seconds": 0.0,
        "suffix_forward_seconds": 0.0,
        "true_suffix_tokens": 0,
        "cached_tokens": 7,
    }
    return BatchTiming(**given | changes)


def test_the_facts_of_an_answer_are_those_of_all_its_decisions() -> None:
    results = [
        result(readout="letters", probabilities=(0.9, 0.1), allowed_token_mass=0.4, input_tokens=10),
        result(readout="letters-rotated", probabilities=(0.3, 0.7), allowed_token_mass=0.8, rotation_spread=0.2),
        result(readout="likelihood", probabilities=(0.5, 0.5), allowed_token_mass=1e-9),
    ]
    assert answer_facts(results, timing()) == {
        "model": "m",
        "readout": "letters+letters-rotated+likelihood",
        "queue_seconds": 0.0,
        "encode_seconds": 0.002,
        "forward_seconds": 1.2346,
        "input_tokens": 30,
        "cached_tokens": 7,
        "confidence": 0.7,
        "confidence_min": 0.5,
        "allowed_token_mass": 0.6,
        "rotation_spread": 0.2,
    }


def test_nothing_that_a_caller_wrote_is_among_the_facts() -> None:
    told = RequestLog(request_id="r", queue_depth=0, dialect=Dialect.DECISION, decisions=1)
    facts = told.facts(status=200, code="ok", seconds=1.0, prefixes={}, answer=answer_facts([result()], timing()))
    assert SECRET not in json.dumps(facts)


def test_small_numbers_are_written_without_an_exponent() -> None:
    """CloudWatch's filters do not take numbers in scientific notation from a line."""
    facts = answer_facts([result(allowed_token_mass=3e-5)], timing(queue_seconds=2e-5, encode_seconds=0.000061))
    assert "e-" not in json.dumps([value for value in facts.values() if isinstance(value, float)])
    assert (facts["allowed_token_mass"], facts["queue_seconds"], facts["encode_seconds"]) == (0.0, 0.0, 0.0001)


def test_what_a_request_did_not_get_to_is_not_said() -> None:
    facts = RequestLog(request_id="r").facts(status=503, code="not_ready", seconds=0.00012, prefixes={}, answer={})
    assert facts == {"event": "answered", "request_id": "r", "status": 503, "code": "not_ready", "seconds": 0.0001}


def test_changes_of_the_prefixes_are_told_once() -> None:
    metrics = Metrics()
    assert metrics.prefix_changes() == {}
    counters = PrefixCounters()
    metrics.watch_prefixes(counters)
    counters.hits, counters.misses = 2, 1
    first = metrics.prefix_changes()
    counters.hits, counters.partial_hits, counters.evictions = 5, 1, 4
    assert first == {"prefix_hits": 2, "prefix_partial_hits": 0, "prefix_misses": 1, "prefix_evictions": 0}
    assert metrics.prefix_changes() == {
        "prefix_hits": 3, "prefix_partial_hits": 1, "prefix_misses": 0, "prefix_evictions": 4,
    }  # fmt: skip
    assert set(metrics.prefix_changes().values()) == {0}


def test_confidence_is_the_probability_of_the_best_option_whatever_its_place() -> None:
    facts = answer_facts([result(probabilities=(0.1, 0.9)), result(probabilities=(0.6, 0.4))], timing())
    assert (facts["confidence"], facts["confidence_min"]) == (pytest.approx(0.75), 0.6)
