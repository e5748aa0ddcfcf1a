"""Writing what a command leaves behind: each file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from client.errors import JobFailed


def write_whole(path: Path, content: bytes) -> None:
    """Raises JobFailed: what was asked for it is in a journal, and need not be asked again."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        raise JobFailed(
            f"{path}: cannot be written: {error.strerror}\nWhat was answered is kept. To go on, when it can: the same "
            "command again"
        ) from error
