"""Draws a run's results: `python picture.py results.json picture.svg`, in the environment that holds matplotlib.

A light card with its own background, so that it reads alike on light and dark pages. Equal results, equal bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

_PARTS = {
    "single": "one decision,\neach state new",
    "questions": "8 questions,\none new state",
    "again": "8 more questions,\nthe same state",
    "criterion-first": "fixed question,\n10 options",
    "conversation": "a growing\nconversation",
}
_PEERS = {
    "fresh": ("(b) fresh prefill for each decision", "#7a8ba6"),
    "restored": ("(c) state saved, restored for each question", "#b08a3e"),
    "openai": ("(d) llama-cpp-python's OpenAI server", "#a65a5a"),
}
_OURS_LABEL = "this project, over HTTP"
_OURS, _INK, _PAPER = "#1b7f6b", "#1f2933", "#ffffff"


def draw(document: dict[str, Any], target: Path) -> None:
    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "benchmarks",
            "svg.fonttype": "path",
            "font.size": 10,
            "text.color": _INK,
            "axes.edgecolor": "#c5ccd3",
        }
    )
    models = {name: results for name, results in document["models"].items() if results["parts"]}
    figure, panels = plt.subplots(
        1,
        len(models),
        figsize=(5.6 * len(models) + 1.2, 4.9),
        sharex=True,
        sharey=True,
        squeeze=False,
        facecolor=_PAPER,
    )
    for panel, (name, results) in zip(panels[0], models.items(), strict=True):
        _panel(panel, name, results)
    found = {
        label: handle for panel in panels[0] for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    labels = [label for label in (_OURS_LABEL, *(label for label, _ in _PEERS.values())) if label in found]
    figure.legend([found[label] for label in labels], labels, loc="lower center", ncols=2, frameon=False, fontsize=9)
    panels[0][0].set_xlim(0, panels[0][0].get_xlim()[1] * 1.06)
    figure.suptitle("How long others take for the same answers (this project = 1)", x=0.5, y=0.985, fontsize=12)
    figure.tight_layout(rect=(0.0, 0.11, 1.0, 0.98))
    figure.savefig(target, facecolor=_PAPER, metadata={"Date": None} if target.suffix == ".svg" else None)
    plt.close(figure)


def _panel(panel: Any, name: str, results: dict[str, Any]) -> None:
    parts = [part for part in _PARTS if part in results["parts"]]
    height = 0.19
    seen: set[str] = set()
    for row, part in enumerate(parts):
        ratios = results["parts"][part]["ratios"]
        bars = [("ours", _OURS_LABEL, _OURS, None)]
        for peer, (label, colour) in _PEERS.items():
            if (ratio := ratios.get(f"{peer}/ours")) is not None:
                bars.append((peer, label, colour, ratio))
        for place, (key, label, colour, ratio) in enumerate(bars):
            at = row + (place - (len(bars) - 1) / 2) * (height + 0.02)
            value = ratio["value"] if ratio else 1.0
            error = [[value - ratio["low"]], [ratio["high"] - value]] if ratio else None
            panel.barh(
                at, value, height, color=colour, xerr=error, error_kw={"ecolor": _INK, "elinewidth": 0.8},
                label=None if key in seen else label,
            )  # fmt: skip
            seen.add(key)
            end = ratio["high"] if ratio else value
            panel.text(end + 0.06, at, f"{value:.2f}" if ratio else "1", va="center", fontsize=8)
    panel.axvline(1.0, color=_OURS, linewidth=0.8, linestyle=":")
    panel.set_yticks(range(len(parts)), [_PARTS[part] for part in parts])
    panel.set_ylim(len(parts) - 0.4, -0.6)
    panel.set_title(name, fontsize=10)
    panel.set_xlabel("time ÷ time of this project, median of interleaved rounds", fontsize=9)
    panel.set_facecolor(_PAPER)
    panel.tick_params(colors=_INK, length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.xaxis.grid(True, color="#e4e8ec", linewidth=0.8)
    panel.set_axisbelow(True)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
