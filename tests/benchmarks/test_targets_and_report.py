from __future__ import annotations

import copy
import json
from typing import Any

from benchmarks.model_run import summary
from benchmarks.report import markdown
from benchmarks.rounds import Rounds
from benchmarks.targets import TARGETS, Target, judge
from benchmarks.workloads import all_workloads

MODEL = "some-model"


def results() -> dict[str, Any]:
    parts: dict[str, Any] = {}
    seconds = {"ours": 0.1, "limit_own": 0.099, "limit_default": 0.095, "fresh": 0.5, "restored": 0.2, "openai": 0.3}
    for workload in all_workloads():
        asked = {
            name: [[seconds[name]] * (1 if name in workload.only_first else 6)] * 3 for name in workload.contestants
        }
        parts |= summary(workload, Rounds(seconds=asked, cached=10, evaluated=20), seed=1)
    return {
        "parts": parts,
        "skipped": {"openai": "it did not start"},
        "exactness": {"asked again": {"compared": 60, "differ": 0, "largest": 0.0}},
        "startup": {
            "seconds_p50": {"ready": 1.0, "plain": 0.5, "self_check": 0.3, "loaded": 0.6, "plain_inside": 0.2},
            "ready_less_self_check_over_plain": {"value": 1.4, "low": 1.3, "high": 1.6},
        },
        "memory": {
            "worker_peak_mb": 400.0, "master_private_mb": 20.0, "model_file_mb": 200.0, "cache_mb": 100.0,
            "kept_prefixes_mb": 10.0, "beyond_mb": 110.0,
        },
        "callers": {
            "callers": 8, "seconds": 60.0, "statuses": {"200": 400, "503": 90}, "slowest_refusal_seconds": 0.05,
            "served_per_second": 6.6, "serial_per_second": [6.7, 6.8], "served_over_serial": 0.978,
            "slowest_ping_seconds": 0.02,
        },
        "noise": {"foreign_share": 0.01},
    }  # fmt: skip


def document(of: dict[str, Any]) -> dict[str, Any]:
    machine = {"cpu": "a CPU", "cores": 2, "system": "Linux 6", "llama_cpp_python": "0.3.36"}
    return {"machine": machine, "quick": False, "passive": False, "minutes": 11.0, "models": {MODEL: of}}


def test_a_run_that_keeps_every_target_meets_every_target() -> None:
    verdicts = [judge(target, results()) for target in TARGETS]
    assert [verdict.target.text for verdict in verdicts if not verdict.met] == []
    assert all(verdict.value is not None for verdict in verdicts)


def test_each_target_can_be_missed() -> None:
    bad = copy.deepcopy(results())
    for part in bad["parts"].values():
        for name, ratio in part["ratios"].items():
            ratio["value"] = 0.5 if name.endswith("/ours") else 2.0
    bad["exactness"]["asked again"]["differ"] = 1
    bad["startup"]["ready_less_self_check_over_plain"]["value"] = 1.6
    bad["startup"]["seconds_p50"]["self_check"] = 2.1
    bad["memory"]["beyond_mb"] = 151
    bad["callers"] |= {
        "statuses": {"200": 1, "lost": 1}, "slowest_refusal_seconds": 0.2, "served_over_serial": 0.9,
        "slowest_ping_seconds": 0.6,
    }  # fmt: skip
    verdicts = [judge(target, bad) for target in TARGETS]
    assert [verdict.target.text for verdict in verdicts if verdict.met] == []


def test_what_was_not_measured_is_said_and_neither_met_nor_missed() -> None:
    verdicts = [judge(target, {"parts": {}}) for target in TARGETS]
    assert {verdict.met for verdict in verdicts} == {None}
    table = markdown(document(results()), verdicts, MODEL)
    assert table.count("not measured") == len(TARGETS)


def test_an_interval_that_crosses_the_limit_is_said() -> None:
    target = Target(text="t", limit=1.5, read=lambda _: {"value": 1.4, "low": 1.3, "high": 1.6})
    verdict = judge(target, {})
    assert (verdict.met, verdict.sure) == (True, False)
    assert "met, interval crosses" in markdown(document(results()), [verdict], MODEL)


def test_the_table_says_verdicts_ratios_what_was_skipped_and_whether_the_machine_was_quiet() -> None:
    good = results()
    verdicts = [judge(target, good) for target in TARGETS]
    table = markdown(document(good), verdicts, MODEL)
    assert "| single decisions: (b) ÷ ours | ≥ 1.3 | 5 [5, 5] | met |" in table
    assert "skipped: openai: it did not start" in table
    assert "do not trust" not in table
    assert table.count("\n| 8 ") == 3 + 4 + 2  # targets of the questions, targets of the callers, workloads
    good["noise"]["foreign_share"] = 0.4
    assert "do not trust these figures" in markdown(document(good), verdicts, MODEL)


def test_results_are_strict_json() -> None:
    assert json.loads(json.dumps(document(results()), allow_nan=False))["models"][MODEL]["parts"]["single"]
