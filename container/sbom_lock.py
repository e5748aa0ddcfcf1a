"""What is installed against what the lock pins: no more, no less, no other version. Knows no document."""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


class SbomError(Exception):
    """What is there differs from what was asked for; the text says how."""


def compare(installed: Mapping[str, str], lock: str) -> None:
    """installed: version by normal name. Raises SbomError with every package that is not pinned, is missing, or has
    another version. Lines of the lock for other Pythons and systems than this do not count."""
    pinned = _pins(lock)
    differences = [
        f"{name}: {installed.get(name, 'nothing')} installed; the lock pins {pinned.get(name, 'nothing')}"
        for name in sorted(installed.keys() | pinned.keys())
        if installed.get(name) != pinned.get(name)
    ]
    if differences:
        raise SbomError("\n".join(differences))


def _pins(lock: str) -> dict[str, str]:
    """Version by normal name, of the lines that hold here."""
    pins: dict[str, str] = {}
    for line in re.sub(r"\\\n", " ", lock).splitlines():
        text = line.partition("--hash=")[0].strip()
        if not text or text.startswith("#"):
            continue
        requirement = Requirement(text)
        versions = [each.version for each in requirement.specifier if each.operator == "=="]
        if len(versions) != 1:
            raise SbomError(f"{text}: one version needed, as NAME==VERSION")
        if requirement.marker is None or requirement.marker.evaluate():
            pins[canonicalize_name(requirement.name)] = versions[0]
    return pins
