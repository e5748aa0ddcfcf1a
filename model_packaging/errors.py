"""The one error family of packaging. A message is one line for a person: place, value seen, limit, remedy."""

from __future__ import annotations


class PackagingError(Exception):
    """The input is wrong: a declaration, an archive, or the bytes of a model. Trying again changes nothing."""

    exit_code = 2


class UnavailableError(PackagingError):
    """The surroundings failed: network, disk space, credentials, another process. Trying again may help."""

    exit_code = 1
