"""A folder ↔ a layer's tar: the same source gives the same bytes, and unpacking never leaves its folder."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from local.images.errors import ImageError

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
# Python before 3.10.12 knows no filters; `_inside` has refused by then what the filter would.
_FILTER: dict[str, Any] = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}


def pack(source: Path, *, at: str, executables: frozenset[str]) -> bytes:
    """The regular files of `source` below the folder `at`, sorted, owned by root, dated at the epoch.

    `.dockerignore` is honoured. Modes are 0644, 0755 for `executables` (paths in `source`), whatever the umask was.
    """
    ignored = read_ignore_file(source / ".dockerignore")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        folders: set[str] = set()
        for path in _files(source, ignored):
            name = path.relative_to(source).as_posix()
            for folder in reversed(PurePosixPath(at, name).parents):
                if str(folder) != "." and str(folder) not in folders:
                    folders.add(str(folder))
                    entry = tarfile.TarInfo(str(folder))
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(entry)
            entry = tarfile.TarInfo(str(PurePosixPath(at, name)))
            entry.size, entry.mode = path.stat().st_size, 0o755 if name in executables else 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return content.getvalue()


def unpack(layer: Path, target: Path) -> None:
    """Applies one layer, tar or tar.gz, to `target`. Raises ImageError for a member that would leave it."""
    with tarfile.open(layer, mode="r:*") as archive:
        for member in archive:
            path = _inside(target, member.name)
            if path.name == _OPAQUE:
                for child in list(path.parent.iterdir()):
                    _remove(child)
            elif path.name.startswith(_WHITEOUT):
                _remove(path.with_name(path.name.removeprefix(_WHITEOUT)))
            elif member.isdev():
                continue  # the runtime brings its own /dev
            else:
                if member.islnk():
                    _inside(target, member.linkname)
                if not member.isdir() or path.is_symlink():
                    _remove(path)
                archive.extract(member, target, numeric_owner=True, **_FILTER)


def read_ignore_file(path: Path) -> Callable[[str], bool]:
    """Says whether a path in the context is left out. Patterns are those of .dockerignore without negation."""
    lines = path.read_text().splitlines() if path.exists() else []
    patterns = [line.strip().rstrip("/") for line in lines if line.strip() and not line.startswith("#")]
    if negated := [pattern for pattern in patterns if pattern.startswith("!")]:
        raise ImageError(f"{path.name}: {negated[0]!r} is not supported here; list what is left out instead")

    def ignored(name: str) -> bool:
        return any(_matches(name, pattern) for pattern in patterns)

    return ignored


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        parts = PurePosixPath(name).parts
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        return any(_matches(tail, pattern[3:]) for tail in tails)
    wanted, given = pattern.split("/"), name.split("/")
    return len(given) >= len(wanted) and all(fnmatchcase(part, want) for part, want in zip(given, wanted, strict=False))


def _files(source: Path, ignored: Callable[[str], bool]) -> Iterator[Path]:
    found = []
    for folder, _, names in os.walk(source):
        found += [Path(folder, name) for name in names]
    for path in sorted(found, key=lambda file: file.relative_to(source).as_posix()):
        if ignored(path.relative_to(source).as_posix()):
            continue
        if path.is_symlink() or not path.is_file():
            raise ImageError(f"{path.relative_to(source)}: the build context may hold regular files only")
        yield path


def _inside(target: Path, name: str) -> Path:
    """Where a member goes. Raises ImageError when that is not below `target`, be it through a link."""
    parts = PurePosixPath(name.lstrip("/")).parts
    if ".." in parts:
        raise ImageError(f"layer member {name!r} leaves the image")
    path = target.joinpath(*parts)
    parent = Path(os.path.realpath(path.parent))
    if not parent.is_relative_to(os.path.realpath(target)):
        raise ImageError(f"layer member {name!r} goes through a link out of the image")
    return path


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
