"""A tiny real model, packed as a build packs it, and labelled decisions of all three types about it."""

from __future__ import annotations

import hashlib
import json
import random
import tarfile
from pathlib import Path
from typing import Any

from model_packaging.build import build
from tests.fixtures.tiny_gguf import write_tiny_llama

OPTIONS = ("billing", "login", "sales")
_DECLARATION = """
name = "tiny"
file = "tiny.gguf"
bytes = {bytes}
sha256 = "{sha256}"
licence = "mit"
source = {{kind = "file", path = "tiny.gguf"}}
serving = {{readout = "{readout}", prompt_version = "{prompt_version}", n_ctx = 1024}}
"""


def pack(folder: Path, *, readout: str = "letters", prompt_version: str = "direct-options-v1") -> Path:
    """→ model.tar.gz below the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = write_tiny_llama(folder / "tiny.gguf").read_bytes()
    declaration = folder / "tiny.toml"
    declaration.write_text(
        _DECLARATION.format(
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            readout=readout,
            prompt_version=prompt_version,
        )
    )
    return build(declaration, output=folder / "out", cache_dir=folder / "cache").archive.path


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def lines(count: int, *, seed: int = 3) -> list[dict[str, Any]]:
    """count of each: decisions, choices, nouls, two paraphrases a group; and three scores, which are too few."""
    drawn = random.Random(seed)
    told: list[dict[str, Any]] = []
    for number in range(count):
        state = f"Case {number}: the invoice of day {drawn.randrange(100)} was paid {drawn.randrange(2, 9)} times."
        group = {"group": f"g{number // 2}", "state": state}
        described = {name: f"The team for {name}." for name in OPTIONS}
        told += [
            {
                **group,
                "id": f"decision-{number}",
                "question": "Which team?",
                "options": [{"id": name, "description": text} for name, text in described.items()],
                "expected": drawn.choice(OPTIONS),
                "group": f"d{number // 2}",
            },
            {
                **group,
                "id": f"choice-{number}",
                "question": {"type": "choice", "instructions": "Whose is it?", "criteria": described},
                "expected": drawn.choice(OPTIONS),
            },
            {
                **group,
                "id": f"noul-{number}",
                "question": {"type": "noul", "instructions": "Was it paid?"},
                "expected": drawn.choice(("yes", "no")),
            },
        ]
    told += [
        {
            "id": f"score-{number}",
            "state": f"Case {number}.",
            "question": {"type": "score", "instructions": "How urgent?", "criteria": ["Not.", "A bit.", "Very."]},
            "expected": number % 3,
        }
        for number in range(3)
    ]
    return told


def write_lines(path: Path, told: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in told))
    return path
