"""A file that a declaration pins: where it comes from, how many bytes it has and which. Knows not how to fetch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .fields import SHA256, SHA256_LIMIT, Fields
from .sources import Source, read_source, source_file, source_json

PINNED_KEYS = ("bytes", "sha256", "source")
MAX_BYTES = 1 << 40


@dataclass(frozen=True, kw_only=True)
class PinnedFile:
    source: Source
    bytes: int
    sha256: str

    @property
    def is_gguf(self) -> bool:
        """By name: such a file must begin as a GGUF does."""
        return source_file(self.source).endswith(".gguf")


def read_pinned(fields: Fields) -> PinnedFile:
    return PinnedFile(
        source=read_source(fields),
        bytes=fields.integer("bytes", 1, MAX_BYTES),
        sha256=fields.text("sha256", SHA256, SHA256_LIMIT),
    )


def pinned_json(pinned: PinnedFile) -> dict[str, Any]:
    return {"bytes": pinned.bytes, "sha256": pinned.sha256, "source": source_json(pinned.source)}
