"""`docker build` without a container: an image whose layer is the source, proved to run in a virtual environment."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from local.images import layers, venv_runtime
from local.images.dockerfile import ResolvedTarget
from local.images.errors import ImageError
from local.images.oci import CONFIG, LAYER, MANIFEST, Descriptor, ImageConfig, Manifest
from local.images.paths import Cache
from local.images.reference import Reference
from local.images.run import RUNTIME_LABEL
from local.images.store import ImageStore
from local.images.venv_runtime import VenvRuntime

APPLICATION_FOLDER = "opt/decision"
SBOM = "sbom.cdx.json"
SELF_CHECK_SECONDS = 120
_EXECUTABLES = frozenset({"serve", "self_check.py"})


def build(
    context: Path,
    *,
    target_name: str,
    target: ResolvedTarget,
    reference: Reference,
    platform: str,
    cache: Cache,
    say: Callable[[str], None],
) -> str:
    """Stores the image. Returns its digest: the same for the same source. Raises ImageError, stores nothing."""
    if target_name == "cuda":
        say("no base image, so no CUDA backend: the build is not asked for one, and what it makes runs without a GPU")
    layer = layers.pack(context, at=APPLICATION_FOLDER, executables=_EXECUTABLES)
    environment = {name: value for name, value in target.environment.items() if name.startswith("DECISION_")}
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        (Path(folder) / "layer.tar").write_bytes(layer)
        layers.unpack(Path(folder) / "layer.tar", Path(folder) / "root")
        source = Path(folder) / "root" / APPLICATION_FOLDER
        runtime = venv_runtime.make(source / "requirements.txt", cache=cache, say=say)
        (source / SBOM).write_bytes(_sbom(source, runtime))
        layer = layers.pack(source, at=APPLICATION_FOLDER, executables=_EXECUTABLES)
        _prove(source, runtime, environment=environment, layer=layer, say=say)
    config = ImageConfig(
        entrypoint=target.entrypoint,
        environment=environment,
        labels={**target.labels, RUNTIME_LABEL: "venv"},
        working_directory=f"/{APPLICATION_FOLDER}",
    )
    store = ImageStore(cache.image_store)
    layer_digest = store.put(layer)
    config_bytes = config.as_bytes(layer_digests=[layer_digest], platform=platform)
    manifest = Manifest(config=Descriptor.of(CONFIG, config_bytes), layers=(Descriptor.of(LAYER, layer),)).as_bytes()
    store.put(config_bytes)
    digest = store.put(manifest)
    store.tag(reference, digest=digest, media_type=MANIFEST)
    return digest


def _sbom(source: Path, runtime: VenvRuntime) -> bytes:
    """As the Dockerfile has it made, of the environment in which this image will run; there is no base image."""
    command = [str(runtime.python), str(source / "sbom.py"), str(source / "requirements.txt"), str(runtime.libraries)]
    done = subprocess.run(command, env=runtime.environment, capture_output=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"sbom.py failed with exit code {done.returncode}:\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def _prove(
    source: Path, runtime: VenvRuntime, *, environment: Mapping[str, str], layer: bytes, say: Callable[[str], None]
) -> None:
    """Runs the container's own self-check, once for each pair of source and environment."""
    stamp = runtime.folder / "proved" / hashlib.sha256(layer + repr(sorted(environment.items())).encode()).hexdigest()
    if stamp.exists():
        say("self-check: this source has passed it in this environment")
        return
    say("self-check: scoring a decision with a tiny model")
    with tempfile.TemporaryDirectory(prefix="self-check-") as home:
        process = subprocess.Popen(
            [str(runtime.python), str(source / "self_check.py")],
            cwd=source,
            env={**runtime.environment, **environment, "HOME": home, "TMPDIR": home},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=SELF_CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            raise ImageError(f"self-check: no end after {SELF_CHECK_SECONDS} s:\n{output[-6000:]}") from None
    for line in output.splitlines():
        say(f"  {line}")
    if process.returncode != 0:
        raise ImageError(f"self-check failed with exit code {process.returncode}; the image is not made")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
