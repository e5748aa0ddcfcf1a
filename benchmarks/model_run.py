"""Everything that is measured of one model, in order: load, workloads in rounds, exactness, memory, callers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import callers, exactness, machine, rounds, startup, texts
from benchmarks.field import Field
from benchmarks.processes import OwnServer
from benchmarks.ratios import paired_ratio
from benchmarks.rounds import Rounds
from benchmarks.workloads import OURS, Prepare, Workload, single_decision

N_CTX = 4096
_RATIOS = (
    ("ours", "limit_own"), ("ours", "limit_default"), ("fresh", "ours"), ("restored", "ours"), ("ours", "openai"),
    ("openai", "ours"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to measure. workloads: their names; rounds: None for each workload's own number."""

    workloads: tuple[str, ...]
    rounds: int | None
    quick: bool
    seed: int
    startup_rounds: int
    callers_seconds: float
    few_rounds: bool  # half of each workload's rounds, for a slower model


def run(
    name: str, model: Path, folder: Path, plan: Plan, chosen: Sequence[Workload], say: Callable[[str], None]
) -> Any:
    results: dict[str, Any] = {"file_bytes": model.stat().st_size, "parts": {}, "skipped": {}}
    if "startup" in plan.workloads:
        say(f"{name}: time to ready")
        results["startup"] = startup.measure(model, folder, n_ctx=N_CTX, rounds=plan.startup_rounds, seed=plan.seed)
    say(f"{name}: starting the contestants")
    foreign, own_before = machine.Foreign(), machine.own_cpu_seconds()
    with closing(Field.start(model, folder, n_ctx=N_CTX)) as field:
        results["settings"] = {"own": field.own.facts["settings"], "default": field.default.facts["settings"]}
        results["engine"] = field.own.facts["engine"]
        results["skipped"] |= field.absent
        for workload in chosen:
            _measure(workload, field, plan, results, lambda text: say(f"{name}: {text}"))
        if "exactness" in plan.workloads:
            say(f"{name}: the same decisions on every path")
            results["exactness"] = exactness.compare(field, random.Random(plan.seed))
        results["memory"] = _memory(field, model)
        bodies = _bodies(field.prepare, random.Random(f"{plan.seed} callers"))
        results["noise"] = asdict(field.idle) | {"idle_share": field.idle.share}
        others, stolen = foreign.share(field.cpu_seconds() + machine.own_cpu_seconds() - own_before)
        results["noise"] |= {"foreign_share": others, "stolen_share": stolen}
    if "callers" in plan.workloads:
        say(f"{name}: {callers.CALLERS} callers at once, {plan.callers_seconds:.0f} s")
        settings = {"DECISION_QUEUE_SIZE": str(callers.QUEUE)}
        with OwnServer(model, folder / "callers.log", n_ctx=N_CTX, settings=settings) as server:
            results["callers"] = callers.measure(server.port, bodies, seconds=plan.callers_seconds)
    return results


def summary(workload: Workload, measured: Rounds, *, seed: int) -> dict[str, Any]:
    """Medians and ratios of each part of a workload."""
    parts = {}
    for part in workload.parts:
        seconds = {
            name: [part.of(one) for one in given] for name, given in measured.seconds.items() if part.of(given[0])
        }
        parts[part.name] = {
            "title": part.title,
            "seconds_p50": {
                name: median([second for one in given for second in one]) for name, given in seconds.items()
            },
            "ratios": {
                f"{upper}/{lower}": asdict(paired_ratio(seconds[upper], seconds[lower], seed=seed))
                for upper, lower in _RATIOS
                if upper in seconds and lower in seconds
            },
            "tokens": {"cached": measured.cached, "evaluated": measured.evaluated},
            "limit_asked_again": measured.asked_again,
        }
    return parts


def _measure(workload: Workload, field: Field, plan: Plan, results: dict[str, Any], say: Callable[[str], None]) -> None:
    count = workload.quick_rounds if plan.quick else workload.rounds
    count = plan.rounds or (max(1, count // 2) if plan.few_rounds else count)
    names = [name for name in workload.contestants if name == OURS or name not in field.absent]
    say(f"{workload.name}, {count} rounds of {len(names)} contestants")
    measured = rounds.run(workload, field.ask, field.prepare, contestants=names, rounds=count, seed=plan.seed)
    results["parts"] |= summary(workload, measured, seed=plan.seed)


def _memory(field: Field, model: Path) -> dict[str, float]:
    """Peak of the process that holds the engine, and what its parent shares with nobody."""
    peak = field.memory.highest
    master = machine.private_memory(field.own_server.process.pid)
    file, cache = model.stat().st_size, field.own.facts["cache_bytes"]
    return {
        "worker_peak_mb": peak.worker / 1e6,
        "master_private_mb": master / 1e6,
        "model_file_mb": file / 1e6,
        "cache_mb": cache / 1e6,
        "kept_prefixes_mb": peak.kept / 1e6,
        "beyond_mb": (peak.beyond + master - file - cache) / 1e6,
    }


def _bodies(prepare: Prepare, drawn: random.Random) -> Iterator[dict[str, Any]]:
    """Endless decisions of about SINGLE_TOKENS tokens, each state new; as many words as one of that size had."""
    sized = single_decision(drawn, prepare)
    count = len(sized["state"].split())

    def make(number: int) -> dict[str, Any]:
        words: list[str] = []
        while len(words) < count:
            words += texts.sentence(drawn).split()
        return {"decision": texts.decision(drawn, f"c{number}", " ".join(words[:count]))}

    return map(make, itertools.count())
