"""What takes the place of the AWS base image where that cannot be pulled: a small Debian with llama.cpp.

Like the AWS image it has Python, an entry point `/usr/bin/serve` and the llama.cpp libraries in `/opt/llama.cpp/bin`;
they are those that `make setup` compiled, so the release is this machine's own. It is no copy of the AWS image: that
one is Amazon Linux 2023 with Python 3.12.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from local.images.buildah import Buildah
from local.images.errors import ImageError
from local.images.lock import locked
from local.images.paths import Cache

_PACKAGES = "python3,python3-venv,libgomp1,ca-certificates"
_MIRROR = "http://deb.debian.org/debian"
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache/apt", "var/lib/apt/lists")
_UNUSED_FILES = (
    "etc/resolv.conf",
    "etc/hostname",
    "etc/machine-id",
    "var/log/bootstrap.log",
    "var/cache/ldconfig/aux-cache",
)
_ENTRY_POINT = "#!/bin/sh\necho 'the stand-in base image serves nothing by itself' >&2\nexit 1\n"


def debian_release() -> str | None:
    """The code name of the Debian release that this machine runs, None on other systems."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except FileNotFoundError:
        return None
    facts = {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}
    return facts.get("VERSION_CODENAME") if facts.get("ID") == "debian" else None


def make(buildah: Buildah, *, libraries: Path, cache: Cache, say: Callable[[str], None]) -> str:
    """NAME@DIGEST of the stand-in in buildah's storage, made if it is not there. Raises ImageError.

    By one build at a time: the next one finds what the first has made.
    """
    name = name_of(libraries)
    with locked(cache.base_images / "lock"):
        if buildah.has_image(name):
            say(f"base image: {name}, reused")
        else:
            _commit(buildah, name, root=_root_file_system(cache.base_images / _recipe(), say), libraries=libraries)
    return _by_digest(buildah, name)


def _commit(buildah: Buildah, name: str, *, root: Path, libraries: Path) -> None:
    container = buildah.run("from", "scratch")
    try:
        buildah.run("copy", "--quiet", container, str(root), "/")
        buildah.run("copy", "--quiet", container, str(libraries), "/opt/llama.cpp/bin")
        buildah.run("config", "--entrypoint", '["/usr/bin/serve"]', container)
        buildah.run("commit", "--quiet", "--timestamp", "0", container, name)
    finally:
        buildah.run("rm", container)


def name_of(libraries: Path) -> str:
    """What the stand-in with these libraries is called: it says all that it is made from."""
    return f"localhost/llama-cpp-stand-in:{_recipe()}-{libraries.parent.name[:12]}"


def _by_digest(buildah: Buildah, name: str) -> str:
    """As a base image is named in a build; the list of what an image holds repeats it."""
    digest = buildah.run("inspect", "--type", "image", "--format", "{{.FromImageDigest}}", name)
    return f"{name.rpartition(':')[0]}@{digest}"


def _recipe() -> str:
    recipe = hashlib.sha256(f"{_PACKAGES} {_UNUSED} {_UNUSED_FILES} {_ENTRY_POINT}".encode()).hexdigest()
    return f"{debian_release()}-{recipe[:12]}"


def _root_file_system(folder: Path, say: Callable[[str], None]) -> Path:
    """The caller holds the lock: the folder that it is made in has one name."""
    if folder.exists():
        return folder
    release = debian_release()
    if release is None:
        raise ImageError("the stand-in for the base image is made on Debian only. Remedy: LOCAL_IMAGE_MODE=venv")
    say(f"base image: making a small Debian {release} with debootstrap, once; about a minute and a half")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, str(partial), _MIRROR]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"debootstrap failed with exit code {done.returncode}:\n{done.stdout[-4000:]}")
    for name in _UNUSED:
        shutil.rmtree(partial / name, ignore_errors=True)
    for name in _UNUSED_FILES:
        if (partial / name).is_file():
            (partial / name).write_bytes(b"")
    (partial / "usr/bin/serve").write_text(_ENTRY_POINT)
    (partial / "usr/bin/serve").chmod(0o755)
    os.replace(partial, folder)
    return folder
