"""`docker pull` of AWS's llama.cpp image: a stand-in of ours takes its name, since nothing is pulled here.

One layer that holds `llama_cpp_stand_in/`. It runs in this checkout's `.venv`, where llama-cpp-python is.
"""

from __future__ import annotations

import re
from pathlib import Path

from local.images import layers
from local.images.errors import ImageError
from local.images.oci import CONFIG, LAYER, MANIFEST, Descriptor, ImageConfig, Manifest
from local.images.paths import ROOT
from local.images.reference import Reference
from local.images.store import ImageStore

RUNTIME = "llama.cpp stand-in"
FOLDER = "opt/llama.cpp-stand-in"
_STOOD_IN_FOR = re.compile(r"public\.ecr\.aws/deep-learning-containers/llama-cpp@sha256:[0-9a-f]{64}")
_SOURCE = Path(__file__).with_name("llama_cpp_stand_in")


def pull(reference: Reference, *, platform: str, label: str, store: ImageStore) -> str:
    """Stores the stand-in under the image's own name. Returns its digest. Raises ImageError for another image."""
    if not _STOOD_IN_FOR.fullmatch(str(reference)):
        raise ImageError(f"pull {reference}: nothing is pulled here, and only AWS's llama.cpp image has a stand-in")
    layer = layers.pack(_SOURCE, at=FOLDER, executables=frozenset())
    config = ImageConfig(
        entrypoint=(f"/{FOLDER}/serve.py",), labels={label: RUNTIME}, working_directory=f"/{FOLDER}"
    ).as_bytes(layer_digests=[store.put(layer)], platform=platform)
    manifest = Manifest(config=Descriptor.of(CONFIG, config), layers=(Descriptor.of(LAYER, layer),)).as_bytes()
    store.put(config)
    digest = store.put(manifest)
    store.tag(reference, digest=digest, media_type=MANIFEST)
    return digest


def command(config: ImageConfig, root: Path) -> list[str]:
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        raise ImageError(f"{python} is missing. Remedy: make setup")
    return [str(python), str(root / config.entrypoint[0].lstrip("/"))]
