"""One process at a time in a folder. The lock is on the folder itself and ends with the process, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import UnavailableError, unusable_folder
from .progress import say


@contextmanager
def folder_lock(folder: Path, *, wait: bool, what: str) -> Iterator[None]:
    """Makes the folder if need be. wait False: raises UnavailableError where another process holds the lock.

    Raises PackagingError where there can be no such folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise unusable_folder(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if not wait:
                raise UnavailableError(f"{folder}: another process is {what} here; wait for it to end") from error
            say(f"waiting: another process is {what} in {folder}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
