"""`docker build` by buildah: the real Dockerfile, on a stand-in for the base image, into the local store."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from local.images import base_stand_in, pip_settings, venv_runtime
from local.images.buildah import Buildah
from local.images.dockerfile import ResolvedTarget
from local.images.errors import ImageError
from local.images.paths import Cache
from local.images.reference import Reference
from local.images.run import RUNTIME_LABEL
from local.images.store import ImageStore

BASE_ARGUMENT = "BASE_IMAGE"
PIP_ARGUMENT = "PIP_CONFIG_FILE"
BACKEND_ARGUMENT = "NEEDED_BACKEND"


def build(
    context: Path,
    *,
    dockerfile: Path,
    target_name: str,
    target: ResolvedTarget,
    arguments: Mapping[str, str],
    reference: Reference,
    platform: str,
    timestamp: int,
    reuse: bool,
    cache: Cache,
    say: Callable[[str], None],
) -> str:
    """Stores the image. Returns its digest, the same for the same source. Raises ImageError.

    timestamp: what every file that is made, and the image itself, is dated; seconds since 1970.
    reuse: whether a step that was done before, on equal content, may be taken from then.
    """
    buildah = Buildah.below(cache.buildah)
    say(f"storage driver {buildah.driver}")
    requirements = (context / "requirements.txt").read_text()
    libraries = venv_runtime.native_libraries(requirements, cache=cache)
    base = base_stand_in.make(buildah, libraries=libraries, cache=cache, say=say)
    say(f"{target.base_image} is not pulled; {base} stands in for it")
    if target_name == "cuda":
        say("the stand-in has no CUDA backend: the build is not asked for one, and what it makes runs without a GPU")
    with tempfile.TemporaryDirectory(prefix="pip-") as folder:
        # Defaults too: buildah 1.28 looks for the stages that are needed by what is given alone.
        pip = pip_settings.write(Path(folder))
        chosen = {**target.arguments, **arguments, BASE_ARGUMENT: base, PIP_ARGUMENT: pip, BACKEND_ARGUMENT: ""}
        given = [word for name, value in chosen.items() for word in ("--build-arg", f"{name}={value}")]
        buildah.follow(
            "build", "--isolation=chroot", "--pull-never", "--layers", "--force-rm", "--timestamp", str(timestamp),
            "--platform", platform, "--label", f"{RUNTIME_LABEL}=chroot",
            "--volume", f"{folder}:{pip_settings.MOUNT_POINT}:ro",
            "--ignorefile", str(context / ".dockerignore"), "--file", str(dockerfile), "--target", target_name,
            *given, *(() if reuse else ("--no-cache",)), "--tag", str(reference), str(context), say=say,
        )  # fmt: skip
    return _export(buildah, reference, ImageStore(cache.image_store))


def _export(buildah: Buildah, reference: Reference, store: ImageStore) -> str:
    """Out of buildah's storage into the store; uncompressed, and layers that are there are not written again."""
    image_id = buildah.run("inspect", "--type", "image", "--format", "{{.FromImageID}}", str(reference))
    stored = store.find(reference)
    if stored is not None and stored.manifest.config.digest == f"sha256:{image_id}":
        return stored.digest
    with store.as_oci_layout() as folder:
        buildah.run("push", "--format", "oci", "--disable-compression", str(reference), f"oci:{folder}:exported")
        entries = json.loads((folder / "index.json").read_bytes())["manifests"]
    if len(entries) != 1:
        raise ImageError(f"{reference}: {len(entries)} manifests exported, one expected")
    digest: str = entries[0]["digest"]
    store.tag(reference, digest=digest, media_type=entries[0]["mediaType"])
    return digest
