"""Reads the manifest beside the weights: JSON of bounded size, and one typed value of it at a time.

What the values mean and whether the files are those it lists is `model_files`' to say (docs/interfaces.md, section 1).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from decision_server.model_errors import StartupFailure

MANIFEST = "manifest.json"
_MAX_BYTES = 1 << 20
_MOST_NAMES = 20


def read_manifest(folder: Path) -> dict[str, Any]:
    """Raises StartupFailure for anything but a JSON object of version 1."""
    place = folder / MANIFEST
    try:
        with open(place, "rb", opener=_open_regular) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise StartupFailure(f"model: {place} has more than {_MAX_BYTES} bytes, which no manifest needs")
        content = json.loads(data)
    except FileNotFoundError:
        names = named(entry.name for entry in folder.iterdir()) or "no files"
        raise StartupFailure(f"model: {folder} holds {names}; {MANIFEST} is missing") from None
    except OSError as error:
        if place.is_symlink():
            raise StartupFailure(f"model: {place} is a link; the manifest must be a regular file") from None
        raise StartupFailure(f"model: {place}: {error.strerror}; a file that can be read is needed") from None
    except RecursionError:
        raise StartupFailure(f"model: {place} is nested too deeply; no manifest is") from None
    except ValueError as error:
        raise StartupFailure(f"model: {place} is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("manifest_version") != 1:
        seen = content.get("manifest_version") if isinstance(content, dict) else type(content).__name__
        raise StartupFailure(f"model: {place}: manifest_version is {shown(seen)}; 1 is needed")
    return content


def _open_regular(path: str, flags: int) -> int:
    """Neither follows a link nor waits for a pipe: what stands there came with the model."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StartupFailure(f"model: {path} is no regular file; the manifest must be one")
    return descriptor


def field(table: dict[str, Any], key: str, kind: type) -> Any:
    value = table.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise StartupFailure(f"model: {MANIFEST}: {key} is {shown(value)}; {kind.__name__} is needed")
    return value


def list_of(table: object, key: str) -> list[Any]:
    value = table.get(key, []) if isinstance(table, dict) else []
    if not isinstance(value, list):
        raise StartupFailure(f"model: {MANIFEST}: {key} is {shown(value)}; a list is needed")
    return value


def optional_text(table: dict[str, Any], key: str) -> str | None:
    return None if table.get(key) is None else str(field(table, key, str))


def named(names: Iterable[str]) -> str:
    """In quotes and in order, the first ones of many: for one line, whoever chose them."""
    every = sorted(names)
    more = f" and {len(every) - _MOST_NAMES} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(map(repr, every[:_MOST_NAMES])) + more


def shown(value: object) -> str:
    """For the one line of an error, however much a manifest holds."""
    if isinstance(value, dict | list) and value:
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
