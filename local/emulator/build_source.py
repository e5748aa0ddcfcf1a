"""A build's source and its buildspec: fetched from S3, unpacked, read."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.emulator.buildspec import Buildspec, BuildspecError, parse
from local.emulator.model_data import OpenObject


class PhaseFailed(Exception):
    """A phase of the build ends with this. code: CodeBuild's name for the kind of failure."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def fetch(source: Mapping[str, Any], work: Path, target: Path, open_object: OpenObject) -> Buildspec:
    """Fills `target`, a new folder below `work`. source: {type, location, buildspec}. Raises PhaseFailed."""
    target.mkdir(parents=True)
    kind = source.get("type", "NO_SOURCE")
    if kind == "S3":
        bucket, _, key = str(source.get("location", "")).removeprefix("arn:aws:s3:::").partition("/")
        try:
            archive = work / "source.zip"
            with open_object(bucket, key) as body, archive.open("wb") as out:
                shutil.copyfileobj(body, out, 1 << 20)
            _unzip(archive, target)
        except (OSError, zipfile.BadZipFile) as error:
            raise PhaseFailed("CLIENT_ERROR", f"source s3://{bucket}/{key}: {error}") from error
    elif kind != "NO_SOURCE":
        raise PhaseFailed("CLIENT_ERROR", f"source type {kind} is not emulated; S3 and NO_SOURCE are")
    return _read_spec(source.get("buildspec") or "buildspec.yml", target)


def _read_spec(given: str, target: Path) -> Buildspec:
    """given: the text itself, or a path in the source."""
    try:
        if "\n" in given or given.lstrip().startswith("{"):
            return parse(given)
        path = (target / given).resolve()
        if not path.is_relative_to(target.resolve()) or not path.is_file():
            raise BuildspecError(f"YAML_FILE_ERROR: the source holds no file {given}")
        return parse(path.read_text(encoding="utf-8"))
    except BuildspecError as error:
        raise PhaseFailed("YAML_FILE_ERROR", str(error)) from error


def _unzip(archive: Path, folder: Path) -> None:
    """Keeps the files' modes, as CodeBuild does. Members that point outside are refused by name."""
    with zipfile.ZipFile(archive) as source:
        for member in source.infolist():
            if Path(member.filename).is_absolute() or ".." in Path(member.filename).parts:
                raise PhaseFailed("CLIENT_ERROR", f"source member {member.filename!r} points outside the source")
            target = Path(source.extract(member, folder))
            mode = member.external_attr >> 16 & 0o777
            if mode:
                target.chmod(mode)
