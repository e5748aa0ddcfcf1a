"""What distinguishes one target from another in a run's settings: a run on a file does not go on with another file that
has its name.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

from client.decisions import LocalTarget, SageMakerTarget, Target, UrlTarget
from client.errors import Refused
from client.evaluation.items import ItemSet
from client.evaluation.journal import Settings

_BLOCK = 1 << 22


def described(target: Target) -> str:
    match target:
        case SageMakerTarget():
            return f"endpoint {target.endpoint_name}" + (f" in {target.region}" if target.region else "")
        case UrlTarget():
            return target.url
        case LocalTarget():
            return Path(target.model).name


def digest(target: Target) -> str | None:
    """Of a model here: of its file, or of its folder's manifest, which names all other files by theirs. Raises Refused
    where it is not there.
    """
    if not isinstance(target, LocalTarget):
        return None
    model = Path(target.model)
    path = model / "manifest.json" if model.is_dir() else model
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                found.update(block)
    except OSError as error:
        raise Refused(f"--model {model}: {path} cannot be read: {error.strerror}") from error
    return found.hexdigest()


def short(target: Target) -> str:
    """For the name of a folder."""
    match target:
        case SageMakerTarget():
            name = target.endpoint_name
        case UrlTarget():
            name = urlsplit(target.url).netloc
        case LocalTarget():
            name = Path(target.model).name.removesuffix(".gguf")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def server_settings(target: Target) -> tuple[str, ...]:
    return (
        tuple(f"{name}={value}" for name, value in sorted(target.settings)) if isinstance(target, LocalTarget) else ()
    )


def settings_of(data: ItemSet, target: Target) -> Settings:
    """Of a run that asks this target these decisions; how it asks is to be added."""
    return Settings(
        data=data.name,
        data_sha256=data.sha256,
        target=described(target),
        target_sha256=digest(target),
        server_settings=server_settings(target),
    )
