"""A folder's files as a value: what a build gets, and the hash of it. Knows neither CDK nor builds.

Two checkouts of the same commit are equal here, whatever their clocks, caches and owners are.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# What tools leave behind, and prose: none of it shapes a build's result.
_IGNORED_NAMES = frozenset(
    {
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".venv",
        ".DS_Store",
        ".git",
        ".idea",
        ".vscode",
    }
)
_IGNORED_SUFFIXES = frozenset({".pyc", ".pyo", ".md", ".gguf", ".swp", ".orig", ".rej"})


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file: `path` below the project's root with forward slashes."""

    path: str
    executable: bool
    content: bytes


@dataclass(frozen=True, kw_only=True)
class SourceTree:
    """Files in the order of their paths."""

    files: tuple[SourceFile, ...]

    def sha256(self) -> str:
        """64 hex over paths, executable bits and contents; nothing else of a file counts."""
        facts = [[file.path, file.executable, hashlib.sha256(file.content).hexdigest()] for file in self.files]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def write_zip(self, path: Path) -> None:
        """The same bytes for the same files: fixed order, clock and permissions."""
        with zipfile.ZipFile(path, "w", compression=zipfile.ZIP_DEFLATED) as archive:
            for file in self.files:
                entry = zipfile.ZipInfo(file.path, date_time=(1980, 1, 1, 0, 0, 0))
                entry.create_system = 3  # Unix, so that the permissions below are read
                entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.content)


def read_source_tree(root: Path, folder: str, *, wanted: Callable[[str], bool] = lambda path: True) -> SourceTree:
    """The files below root/folder whose path (as SourceFile.path) is `wanted`. ValueError for a symbolic link."""
    files = []
    for path in sorted((root / folder).rglob("*"), key=lambda each: each.relative_to(root).as_posix()):
        name = path.relative_to(root).as_posix()
        if _is_ignored(PurePosixPath(name)) or not wanted(name):
            continue
        if path.is_symlink():
            raise ValueError(f"{name}: a symbolic link; a build's source holds regular files only")
        if path.is_file():
            files.append(SourceFile(path=name, executable=bool(path.stat().st_mode & 0o100), content=path.read_bytes()))
    return SourceTree(files=tuple(files))


def _is_ignored(path: PurePosixPath) -> bool:
    return path.suffix in _IGNORED_SUFFIXES or any(
        part in _IGNORED_NAMES or part.endswith(".egg-info") for part in path.parts
    )
