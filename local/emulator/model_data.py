"""Fetches a model archive from S3 and unpacks it as SageMaker does: regular files and folders only, nothing outside
its folder.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

OpenObject = Callable[[str, str], IO[bytes]]  # bucket, key → its bytes


class ModelDataError(Exception):
    """Why the archive could not be used; its text becomes the endpoint's failure reason."""


def split_s3_url(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc or not parts.path.strip("/"):
        raise ModelDataError(f"model data {url!r}: not of the form s3://bucket/key")
    return parts.netloc, parts.path.lstrip("/")


def unpack(url: str, folder: Path, open_object: OpenObject) -> None:
    """Fills `folder`, which must not exist. On any error the folder is gone again."""
    bucket, key = split_s3_url(url)
    folder.mkdir(parents=True)
    try:
        with open_object(bucket, key) as body, tarfile.open(fileobj=body, mode="r|gz") as archive:
            for member in archive:
                _extract(archive, member, folder)
    except (tarfile.TarError, EOFError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ModelDataError(f"Failed to extract model data archive from {url}: {error}") from error
    except ModelDataError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\\" in member.name:
        raise ModelDataError(f"model data member {member.name!r} points outside the archive's folder")
    target = folder / path
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    source = archive.extractfile(member) if member.isreg() else None
    if source is None:
        raise ModelDataError(f"model data member {member.name!r} is neither a regular file nor a folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
