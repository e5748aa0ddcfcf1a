"""The figures of `benchmarks.image` as the table that docs/image.md has. Pure."""

from __future__ import annotations

from typing import Any

_HEAD = "| | ours | with transformers | ours / with |\n|---|---|---|---|\n"


def table(document: dict[str, Any]) -> str:
    """Lines of Markdown, each with its end. Sizes in millions of bytes; times as ratios alone, for seconds are the
    machine's own."""
    added, files, base = document["bytes_added"], document["bytes_of_files"], document["bytes_of_base"]
    ratios = document["ours_over_with_transformers"]
    rows = [
        ("files that we add to the base", files, ratios["files"]),
        ("the same in a registry, compressed", added, ratios["added"]),
        (
            f"whole image in a registry, on the stand-in for the base ({_mb(base)})",
            {kind: base + size for kind, size in added.items()},
            ratios["image"],
        ),
    ]
    lines = [f"| {name} | {_mb(sizes['ours'])} | {_mb(sizes['with'])} | {ratio:.2f} |" for name, sizes, ratio in rows]
    for name, part in (("until ready", "ready"), ("until the first answer", "first_answer")):
        lines.append(f"| {name} | | | {ratios[part]:.2f} |")
    return _HEAD + "".join(f"{line}\n" for line in lines)


def sentence(document: dict[str, Any]) -> str:
    """What was measured how often, and how far rounds differ."""
    each, noise = document["ready_ratio_of_each_round"], document["noise"]
    return (
        f"Medians of {document['rounds']} rounds after one that does not count, SmolLM2-135M Q8_0, context 1024, on "
        f"{document['machine']['cores']} cores; other work took {noise['foreign_share']:.0%} of the machine meanwhile. "
        f"Of single rounds the ratio of `until ready` was between {min(each):.2f} and {max(each):.2f}.\n"
    )


def _mb(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
