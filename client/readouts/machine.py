"""What the figures of time were measured on, in words."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> str:
    """Of this machine: where the target is another one, its own is not known here."""
    return f"{_processor()}, {os.cpu_count()} CPUs, {platform.system()} {platform.machine()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or "a processor without a name")
