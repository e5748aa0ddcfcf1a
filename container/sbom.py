"""What the image holds, as a CycloneDX 1.6 document on standard output: the Python packages that we add, from their
metadata, llama.cpp's libraries, and the base image by digest.

Run by the interpreter whose environment is described. What is installed must be what the lock pins, no more and no
less. Equal images, equal bytes: no dates, no serial number (docs/decisions/0017).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import sbom_native
from packaging.utils import canonicalize_name
from sbom_lock import SbomError, compare


def document(packages: Iterable[metadata.Distribution], others: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    """Packages sorted by name, then the others. A package's licence stands as it states it: an SPDX expression, or its
    own words."""
    components = sorted((_component(package) for package in packages), key=lambda component: str(component["name"]))
    components += others
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


def _component(package: metadata.Distribution) -> dict[str, Any]:
    name = canonicalize_name(package.metadata["Name"])
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


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="sbom.py", description="Writes a CycloneDX document of this environment.")
    parser.add_argument("lock", type=Path, help="what is installed must be what this pins")
    parser.add_argument("libraries", type=Path, help="the folder of llama.cpp's libraries")
    parser.add_argument("base_image", nargs="?", help="NAME@sha256:…; left out where the environment is no image")
    given = parser.parse_args(arguments)
    packages = [*metadata.distributions()]
    try:
        compare({canonicalize_name(each.metadata["Name"]): each.version for each in packages}, given.lock.read_text())
        others = [sbom_native.llama_cpp(given.libraries)]
        if given.base_image is not None:
            others.append(sbom_native.base_image(given.base_image))
    except SbomError as error:
        print(f"sbom.py: {error}", file=sys.stderr)
        return 1
    print(json.dumps(document(packages, others), indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
