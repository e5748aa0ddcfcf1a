"""What is known of a contestant besides its answers: which weights, how large, how much memory. A small file beside its
journal, written when all was asked, so that a comparison that is taken up again need not start its server anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from client.evaluation.whole_file import write_whole

NAME = "contestant.json"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Facts:
    """model: its name in answers. gguf_sha256, gguf_bytes, llama_cpp, n_threads, n_gpu_layers: as the server says them;
    None where it does not. peak_bytes: of a local server's processes; None of others, and of a process that
    answered less than half of the decisions, as after an interruption."""

    model: str
    gguf_sha256: str | None
    gguf_bytes: int | None
    llama_cpp: str | None
    n_threads: int | None
    n_gpu_layers: int | None
    peak_bytes: int | None = None


def facts_of(raw: Mapping[str, Any], *, model: str, peak_bytes: int | None = None) -> Facts:
    """raw: an answer of contract section 3. What stands there in another shape than the contract's is not taken."""
    told = raw.get("model")
    told = told if isinstance(told, dict) else {}
    gguf = told.get("gguf")
    gguf = gguf if isinstance(gguf, dict) else {}
    return Facts(
        model=model,
        gguf_sha256=_text(gguf.get("sha256")),
        gguf_bytes=_number(gguf.get("bytes")),
        llama_cpp=_text(told.get("llama_cpp")),
        n_threads=_number(told.get("n_threads")),
        n_gpu_layers=_number(told.get("n_gpu_layers")),
        peak_bytes=peak_bytes,
    )


def write(folder: Path, facts: Facts) -> None:
    """Raises JobFailed."""
    told = json.dumps({"facts_version": VERSION, **asdict(facts)}, indent=2) + "\n"
    write_whole(folder / NAME, told.encode("utf-8"))


def read(folder: Path) -> Facts | None:
    """None where there are none, or none that this client wrote: they are then found out again."""
    try:
        told = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if told.pop("facts_version") != VERSION:
            return None
        return Facts(**told)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
