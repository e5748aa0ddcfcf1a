"""`make bench`: this project against its peers in one run; one table, one JSON file, one picture.

A full run writes to `benchmarks/results/`, which git keeps; a quick or partial one to `.cache/bench/`.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import machine, model_run, processes, report
from benchmarks.hybrid_model import hybrid
from benchmarks.model_run import Plan
from benchmarks.processes import BENCH_PYTHON, ROOT, ProcessFailed
from benchmarks.targets import TARGETS, judge
from benchmarks.workloads import all_workloads
from tests.fixtures.models import CACHE, smollm2_q8_0

SMOLLM2, HYBRID = "smollm2-135m-q8_0", "hybrid-300mb-q8_0"
SEED = 20240607
_EXTRAS = ("startup", "exactness", "callers")


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by SIGTERM; the processes it started are stopped"))
    names = [workload.name for workload in all_workloads()]
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one to three rounds of each, for development")
    parser.add_argument(
        "--model", action="append", help=f"{SMOLLM2}, {HYBRID} or a .gguf file; may be given again; default both"
    )
    parser.add_argument(
        "--workload", action="append", choices=[*names, *_EXTRAS], help="may be given again; default all"
    )
    parser.add_argument("--rounds", type=int, help="rounds of every workload, instead of its own number")
    parser.add_argument(
        "--passive", action="store_true", help="all waiting threads sleep, the peers' too: for a machine that is busy"
    )
    given = parser.parse_args()
    if given.rounds is not None and given.rounds < 1:
        parser.error(f"--rounds: {given.rounds} given; at least 1 is needed")
    whole = not (given.quick or given.model or given.workload or given.rounds or given.passive)
    folder = ROOT / "benchmarks/results" if whole else CACHE / "bench"
    began = time.monotonic()
    document: dict[str, Any] = {
        "machine": machine.facts(),
        "quick": given.quick,
        "passive": given.passive,
        "seed": SEED,
    }
    document["models"] = {}
    if given.passive:
        processes.wait_passively()
    failed = False
    with tempfile.TemporaryDirectory(prefix="bench-") as logs:
        for name in given.model or [SMOLLM2, HYBRID]:
            plan = _plan(given, names, name)
            chosen = [workload for workload in all_workloads() if workload.name in plan.workloads]
            title, path = _model(name)
            try:
                document["models"][title] = model_run.run(title, path, Path(logs) / title, plan, chosen, _say)
            except ProcessFailed as failure:
                print(f"bench: {title} is left out: {failure}", file=sys.stderr)
                failed = True
    document["minutes"] = round((time.monotonic() - began) / 60, 1)
    _write(document, CACHE / "bench" if failed else folder)
    return 1 if failed else 0


def _plan(given: argparse.Namespace, names: list[str], model: str) -> Plan:
    wanted = given.workload or [*names, *_EXTRAS]
    if not given.workload and model == HYBRID:
        wanted = [name for name in wanted if name != "callers"]  # it is about the queue, not about the model
    return Plan(
        workloads=tuple(wanted),
        rounds=given.rounds,
        quick=given.quick,
        seed=SEED,
        startup_rounds=1 if given.quick else 5,
        callers_seconds=8.0 if given.quick else 60.0,
        few_rounds=model == HYBRID,
    )


def _model(name: str) -> tuple[str, Path]:
    if name == SMOLLM2:
        return name, smollm2_q8_0()
    if name == HYBRID:
        return name, hybrid(CACHE / "models", smollm2_q8_0())
    path = Path(name).resolve()
    if not path.is_file():
        raise SystemExit(f"bench: --model: {name!r} is no file and neither {SMOLLM2} nor {HYBRID}")
    return path.stem, path


def _write(document: dict[str, Any], folder: Path) -> None:
    verdicts = [judge(target, document["models"].get(SMOLLM2, {})) for target in TARGETS]
    document["targets"] = [
        {"target": one.target.text, "limit": one.target.limit, "value": one.value, "met": one.met} for one in verdicts
    ]
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "latest.json"
    written.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    table = report.markdown(document, verdicts, SMOLLM2)
    (folder / "latest.md").write_text(table)
    print(table)
    picture = folder / "latest.svg"
    if any(results["parts"] for results in document["models"].values()):
        subprocess.run([BENCH_PYTHON, ROOT / "benchmarks/picture.py", written, picture], check=True)
    _say(f"written to {folder.relative_to(ROOT)}: latest.json, latest.md, latest.svg")


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
