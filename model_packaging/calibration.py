"""The calibration that a declaration names: read, and compared with the model it is packed beside.

The server checks all of it at every start (docs/interfaces.md, section 1). What is checked here are the three facts
that tie it to its model, so that a wrong one fails a build and not an endpoint.
"""

from __future__ import annotations

import json
from pathlib import Path

from .errors import PackagingError
from .serving import Serving


def check_calibration(path: Path, *, gguf_sha256: str, serving: Serving, where: str) -> None:
    """Raises PackagingError that names the field, the value seen and the one needed."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PackagingError(f"{where}: calibration: {path}: {error.strerror}; a file is needed") from error
    except (ValueError, RecursionError) as error:
        raise PackagingError(f"{where}: calibration: {path} is not JSON in UTF-8: {error}") from error
    if not isinstance(table, dict):
        raise PackagingError(f"{where}: calibration: {path} holds a JSON {type(table).__name__}; an object is needed")
    needed = {"gguf_sha256": gguf_sha256, "readout": serving.readout, "prompt_version": serving.prompt_version}
    for field, value in needed.items():
        if table.get(field) != value:
            raise PackagingError(
                f"{where}: calibration: {path}: {field}: {str(table.get(field))[:80]!r} given; this model has "
                f"{value!r}. Remedy: fit it again for these weights and these serving defaults"
            )
