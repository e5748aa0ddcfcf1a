"""Brings a model from S3 into a folder as SageMaker does: an archive unpacked, regular files and folders only, or all
that stands under a prefix; nothing outside the folder.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Protocol
from urllib.parse import urlsplit

OpenObject = Callable[[str, str], IO[bytes]]  # bucket, key → its bytes


class Bucketed(Protocol):
    """S3 with the rights of somebody. Both raise FileNotFoundError for what they may not see."""

    def open(self, bucket: str, key: str) -> IO[bytes]: ...

    def keys(self, bucket: str, prefix: str) -> list[str]: ...


class ModelDataError(Exception):
    """Why the archive could not be used; its text becomes the endpoint's failure reason."""


def split_s3_url(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc or not parts.path.strip("/"):
        raise ModelDataError(f"model data {url!r}: not of the form s3://bucket/key")
    return parts.netloc, parts.path.lstrip("/")


def bring(url: str, folder: Path, objects: Bucketed) -> None:
    """Fills `folder`, which must not exist. url: of an archive, or of a prefix, which ends in "/".

    On any error the folder is gone again.
    """
    bucket, key = split_s3_url(url)
    folder.mkdir(parents=True)
    try:
        if key.endswith("/"):
            for each in objects.keys(bucket, key):
                with objects.open(bucket, each) as body:
                    _write(each.removeprefix(key), body, folder)
        else:
            with objects.open(bucket, key) as body, tarfile.open(fileobj=body, mode="r|gz") as archive:
                for member in archive:
                    _extract(archive, member, folder)
    except (tarfile.TarError, EOFError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ModelDataError(f"Failed to bring model data from {url}: {error}") from error
    except ModelDataError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    if member.isdir():
        _place(member.name, folder).mkdir(parents=True, exist_ok=True)
        return
    source = archive.extractfile(member) if member.isreg() else None
    if source is None:
        raise ModelDataError(f"model data member {member.name!r} is neither a regular file nor a folder")
    with source:
        _write(member.name, source, folder)


def _write(name: str, body: IO[bytes], folder: Path) -> None:
    target = _place(name, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        shutil.copyfileobj(body, out, 1 << 20)


def _place(name: str, folder: Path) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise ModelDataError(f"model data member {name!r} points outside the model's folder")
    return folder / path
