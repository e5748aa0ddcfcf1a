"""What is in the image and is no Python package, as CycloneDX components: llama.cpp's libraries, and the base image."""

from __future__ import annotations

import ctypes
import hashlib
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sbom_lock import SbomError

_LIBRARY = re.compile(r"lib(?:llama|ggml)[A-Za-z0-9_-]*\.so(?:\.(?P<version>[0-9.]+))?")
_PINNED = re.compile(r"(?P<name>[^\s@]+)@(?P<digest>sha256:(?P<hex>[0-9a-f]{64}))")


def llama_cpp(folder: Path) -> dict[str, Any]:
    """The libraries of one llama.cpp: each file once, whatever its links are called. Version: as libllama's file has
    it, and ggml's own words. Raises SbomError where libllama or ggml's base is not there."""
    files = {
        name: (path, match["version"])
        for path in sorted(folder.glob("lib*.so*"))
        if not path.is_symlink() and (match := _LIBRARY.fullmatch(name := path.name))
    }
    parts = [_file(path, version) for path, version in files.values()]
    for needed in ("libllama.so", "libggml-base.so"):
        if not any(name.startswith(needed) for name in files):
            raise SbomError(f"{folder}: no {needed} there, where the image has llama.cpp")
    component: dict[str, Any] = {"type": "library", "bom-ref": "llama.cpp", "name": "llama.cpp"}
    if version := next(version for name, (_, version) in files.items() if name.startswith("libllama.so")):
        component["version"] = version
    base = next(path for name, (path, _) in files.items() if name.startswith("libggml-base.so"))
    return {**component, "properties": _own_words(base), "components": parts}


def base_image(reference: str) -> dict[str, Any]:
    """Raises SbomError for a reference without a digest: a tag says nothing about what is in an image."""
    match = _PINNED.fullmatch(reference)
    if match is None:
        raise SbomError(f"base image {reference!r}: NAME@sha256:<64 hex> needed")
    place, digest = match["name"], match["digest"]
    name = place.rpartition("/")[2]
    return {
        "type": "container",
        "bom-ref": "base-image",
        "name": place,
        "version": digest,
        "hashes": [{"alg": "SHA-256", "content": match["hex"]}],
        "purl": f"pkg:oci/{name}@{quote(digest, safe='')}?repository_url={quote(place, safe='/')}",
    }


def _file(path: Path, version: str | None) -> dict[str, Any]:
    component: dict[str, Any] = {"type": "file", "bom-ref": f"llama.cpp/{path.name}", "name": path.name}
    if version is not None:
        component["version"] = version
    return {**component, "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def _own_words(base: Path) -> list[dict[str, str]]:
    """What ggml says of itself; a release that has no such function says nothing."""
    library = ctypes.CDLL(str(base))
    found = []
    for name in ("version", "commit"):
        try:
            function = library[f"ggml_{name}"]
        except AttributeError:
            continue
        function.restype = ctypes.c_char_p
        found.append({"name": f"ggml:{name}", "value": function().decode()})
    return found
