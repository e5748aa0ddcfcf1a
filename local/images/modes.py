"""Which of the two ways images are built in on this machine, and why."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from local.images.base_stand_in import debian_release
from local.images.errors import ImageError

SETTING = "LOCAL_IMAGE_MODE"


@dataclass(frozen=True, kw_only=True)
class Mode:
    name: str  # "buildah" or "venv"
    reason: str


def choose(environ: Mapping[str, str]) -> Mode:
    """Raises ImageError for an unknown setting, or for buildah where it cannot run."""
    wanted = environ.get(SETTING)
    if wanted not in (None, "buildah", "venv"):
        raise ImageError(f"{SETTING}: {wanted!r} given; buildah or venv allowed, or leave it out")
    if wanted == "venv":
        return Mode(name="venv", reason=f"{SETTING}=venv")
    obstacle = obstacle_to_buildah()
    if wanted == "buildah":
        if obstacle is not None:
            raise ImageError(f"{SETTING}=buildah, but {obstacle}. Remedy: {SETTING}=venv")
        return Mode(name="buildah", reason=f"{SETTING}=buildah")
    if obstacle is None:
        return Mode(name="buildah", reason="it is installed and this is root")
    return Mode(name="venv", reason=obstacle)


def obstacle_to_buildah() -> str | None:
    if sys.platform != "linux":
        return "buildah needs Linux"
    for tool in ("buildah", "debootstrap", "unshare", "mount", "chroot"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if os.geteuid() != 0:
        return "buildah is used as root alone, and this is another user"
    if debian_release() is None:
        return "the stand-in for the base image is made on Debian alone, and this is another system"
    return None
