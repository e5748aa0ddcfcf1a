"""A run's results as Markdown: the targets with their verdicts, then every ratio. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.targets import Verdict

_NAMES = {
    "ours/limit_own": "ours ÷ (a) ours",
    "ours/limit_default": "ours ÷ (a) default",
    "fresh/ours": "(b) ÷ ours",
    "restored/ours": "(c) ÷ ours",
    "openai/ours": "(d) ÷ ours",
}
PEERS = """\
- (a) plain `llama_decode` of the tokens that were really evaluated: at this engine's settings and segments, and in one
  piece at llama.cpp's defaults
- (b) a fresh prefill for each decision, (c) the state once, saved, and restored for each question: both at llama.cpp's
  defaults
- (d) llama-cpp-python's own OpenAI server, asked for one token with log-probabilities
"""
NOISY = 0.05  # share of the cores used by others from which on figures are not to be trusted


def markdown(document: Mapping[str, Any], verdicts: Sequence[Verdict], target_model: str) -> str:
    """document: as the JSON holds it."""
    lines = [_heading(document), "", PEERS]
    if target_model in document["models"]:
        lines += [f"## Targets, {target_model}", "", *_targets(verdicts), ""]
    for name, results in document["models"].items():
        lines += [f"## {name}", "", *_ratios(results), ""]
        lines += _further(results)
    return "\n".join(lines).rstrip() + "\n"


def _heading(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    shares = [results["noise"]["foreign_share"] for results in document["models"].values()]
    noise = max(shares, default=0.0)
    said = f"other processes used {noise:.0%} of the cores meanwhile"
    if noise > NOISY:
        said = f"**not a quiet machine: {said}; do not trust these figures**"
    if document["quick"]:
        said = f"**a quick run, for development only**; {said}"
    if document["passive"]:
        said = f"**all peers' waiting threads sleep, which is not their default**; {said}"
    return (
        f"{machine['cores']} cores of {machine['cpu']}, {machine['system']}, llama-cpp-python "
        f"{machine['llama_cpp_python']}, {document['minutes']:.0f} minutes; {said}. Ratios are medians of paired "
        "ratios; in brackets the 95 % bootstrap interval."
    )


def _targets(verdicts: Sequence[Verdict]) -> list[str]:
    rows = ["| target | limit | measured | |", "|---|---|---|---|"]
    for verdict in verdicts:
        target = verdict.target
        limit = f"{'≥' if target.at_least else '≤'} {target.limit:g}{target.unit}"
        if verdict.value is None:
            rows.append(f"| {target.text} | {limit} | | not measured |")
            continue
        measured = f"{verdict.value:.3g}{target.unit}"
        if verdict.low is not None and verdict.high is not None:
            measured += f" [{verdict.low:.3g}, {verdict.high:.3g}]"
        said = "met" if verdict.met else "**not met**"
        rows.append(f"| {target.text} | {limit} | {measured} | {said}{'' if verdict.sure else ', interval crosses'} |")
    return rows


def _ratios(results: Mapping[str, Any]) -> list[str]:
    rows = [f"| workload | ours, p50 | {' | '.join(_NAMES.values())} |", f"|---|---|{'---|' * len(_NAMES)}"]
    for part in results["parts"].values():
        cells = [_cell(part["ratios"].get(name)) for name in _NAMES]
        rows.append(f"| {part['title']} | {1000 * part['seconds_p50']['ours']:.0f} ms | {' | '.join(cells)} |")
    return rows


def _cell(ratio: Mapping[str, Any] | None) -> str:
    return f"{ratio['value']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio else ""


def _further(results: Mapping[str, Any]) -> list[str]:
    lines = [f"- skipped: {name}: {reason}" for name, reason in results["skipped"].items()]
    for path, found in results.get("exactness", {}).items():
        lines.append(f"- logits, {path}: {found['differ']} of {found['compared']} differ")
    if "startup" in results:
        seconds = results["startup"]["seconds_p50"]
        lines.append(
            f"- ready after {seconds['ready']:.2f} s (self-check {seconds['self_check']:.2f} s), a plain load takes "
            f"{seconds['plain']:.2f} s; without interpreters and their imports {seconds['loaded']:.2f} s and "
            f"{seconds['plain_inside']:.2f} s"
        )
    if "memory" in results:
        memory = results["memory"]
        lines.append(
            f"- memory: {memory['worker_peak_mb']:.0f} MB at the peak, {memory['master_private_mb']:.0f} MB in "
            f"gunicorn's parent; model file {memory['model_file_mb']:.0f} MB, cache {memory['cache_mb']:.0f} MB, "
            f"kept prefixes {memory['kept_prefixes_mb']:.0f} MB; beyond these {memory['beyond_mb']:.0f} MB"
        )
    if "callers" in results:
        found = results["callers"]
        lines.append(
            f"- {found['callers']} callers for {found['seconds']:.0f} s: answers {found['statuses']}; "
            f"{found['served_per_second']:.2f} served a second, serial "
            + " and ".join(f"{rate:.2f}" for rate in found["serial_per_second"])
        )
    return [*lines, ""]
