"""What the image adds to its base, as a CycloneDX 1.6 document on standard output: from installed packages' metadata.

Run by the interpreter whose environment is described, with the lock file as its argument. What is installed must be
what the lock pins, no more and no less. Equal environments, equal bytes: no dates, no serial number. Needs the standard
library alone (docs/decisions/0017).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

_PIN = re.compile(r"(?m)^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")


class SbomError(Exception):
    """What is installed differs from what is pinned; the text says how."""


def document(packages: Iterable[metadata.Distribution]) -> dict[str, Any]:
    """Components sorted by name. A package's licence stands as it states it: an SPDX expression, or its own words."""
    components = sorted((_component(package) for package in packages), key=lambda component: str(component["name"]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": "decision-server", "name": "decision-server"}},
        "components": components,
        "dependencies": [
            {"ref": "decision-server", "dependsOn": [component["bom-ref"] for component in components]},
        ],
    }


def compare(installed: dict[str, str], lock: str) -> None:
    """Raises SbomError for a package that is not pinned, or at another version. The lock may have several lines of one
    name, for several Pythons, and lines for Pythons that this is not."""
    pinned: dict[str, set[str]] = {}
    for match in _PIN.finditer(lock):
        pinned.setdefault(_normal(match["name"]), set()).add(match["version"])
    for name, version in sorted(installed.items()):
        if version not in pinned.get(name, ()):
            allowed = ", ".join(sorted(pinned.get(name, ()))) or "nothing"
            raise SbomError(f"{name}: {version} installed; the lock pins {allowed}")


def _component(package: metadata.Distribution) -> dict[str, Any]:
    name = _normal(package.metadata["Name"])
    reference = f"pkg:pypi/{name}@{package.version}"
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": package.version,
        "purl": reference,
    }
    stated = {name: package.metadata.get_all(name) or [] for name in ("License-Expression", "Classifier", "License")}
    classified = [line.rpartition(" :: ")[2] for line in stated["Classifier"] if line.startswith("License ::")]
    if stated["License-Expression"]:
        component["licenses"] = [{"expression": stated["License-Expression"][0]}]
    elif named := classified or [text.partition("\n")[0] for text in stated["License"] if text]:
        component["licenses"] = [{"license": {"name": name}} for name in named]
    return component


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: sbom.py requirements.txt", file=sys.stderr)
        return 2
    packages = [*metadata.distributions()]
    try:
        compare({_normal(each.metadata["Name"]): each.version for each in packages}, Path(arguments[0]).read_text())
    except SbomError as error:
        print(f"sbom.py: {error}", file=sys.stderr)
        return 1
    print(json.dumps(document(packages), indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
