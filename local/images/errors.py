"""The one error of this package: something a person can mend, said in one text."""

from __future__ import annotations


class ImageError(Exception):
    """What was asked, what was seen and what to do about it, for the build's log or the endpoint's failure reason."""
