"""Runs an image's entry point in the image's own root file system without a container engine.

Needs root: a mount namespace and chroot. Network and processes are the machine's own; files are the image's, read-only,
with a fresh /tmp, the machine's /dev, and the model's folder at /opt/ml/model, where SageMaker has it. It stands in for
a container and is no prison.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from local.images.errors import ImageError
from local.images.oci import ImageConfig

# $1: root, $2: working directory; the entry point follows. exec keeps one process, so signals reach the server itself.
_SCRIPT = """
set -eu
root=$1 folder=$2
shift 2
mount --rbind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
if [ -n "${DECISION_MODEL_PATH:-}" ] && [ -e "$DECISION_MODEL_PATH" ]; then
    mkdir -p "$root/opt/ml/model"
    if [ -d "$DECISION_MODEL_PATH" ]; then
        mount --bind "$DECISION_MODEL_PATH" "$root/opt/ml/model"
        DECISION_MODEL_PATH=/opt/ml/model
    else
        mount --bind "$(dirname "$DECISION_MODEL_PATH")" "$root/opt/ml/model"
        DECISION_MODEL_PATH=/opt/ml/model/$(basename "$DECISION_MODEL_PATH")
    fi
    mount -o remount,bind,ro "$root/opt/ml/model"
    export DECISION_MODEL_PATH
fi
mount -o remount,bind,ro "$root"
exec chroot "$root" /bin/sh -c 'cd "$1"; shift; exec "$@"' sh "$folder" "$@"
"""


def command(config: ImageConfig, root: Path) -> list[str]:
    """Runs the entry point; environment variables are the caller's, DECISION_MODEL_PATH a path outside."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise ImageError("unshare is not installed; an image made by buildah cannot run here")
    return [
        unshare, "--mount", "--propagation", "private", "sh", "-c", _SCRIPT, "sh",
        str(root), config.working_directory, *config.entrypoint,
    ]  # fmt: skip
