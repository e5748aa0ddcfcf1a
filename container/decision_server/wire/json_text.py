"""JSON value → bytes, the same for every dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping


def json_bytes(value: Mapping[str, object]) -> bytes:
    """Strict JSON. Floats are written so that they read back as the same float."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
