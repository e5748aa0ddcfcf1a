"""The one error family of packaging. A message is one line for a person: place, value seen, limit, remedy."""

from __future__ import annotations

import errno
from pathlib import Path

_FULL_OR_FAILING = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class PackagingError(Exception):
    """The input is wrong: a declaration, an archive, or the bytes of a model. Trying again changes nothing."""

    exit_code = 2


class UnavailableError(PackagingError):
    """The surroundings failed: network, disk space, credentials, another process. Trying again may help."""

    exit_code = 1


def unusable_folder(folder: Path, error: OSError) -> PackagingError:
    """The error to raise where `folder` cannot be made or written: another folder is needed, or a disk with room."""
    kind = UnavailableError if error.errno in _FULL_OR_FAILING else PackagingError
    return kind(f"{folder}: {error.strerror or error}; a folder that can be written is needed")
