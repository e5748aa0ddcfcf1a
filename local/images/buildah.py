"""Runs buildah with a storage of its own below the cache. Knows its options, not what is built."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from local.images.errors import ImageError
from local.images.lock import locked

_POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'  # nothing is ever pulled: see --pull-never


@dataclass(frozen=True, kw_only=True)
class Buildah:
    storage: Path
    driver: str  # overlay where the kernel lets it be mounted; vfs copies the whole image for each step

    @classmethod
    def below(cls, folder: Path) -> Buildah:
        folder.mkdir(parents=True, exist_ok=True)
        # Alone: another build would read half a policy, or find the probe's folders mounted and take the other driver.
        with locked(folder / "lock"):
            if not (policy := folder / "policy.json").exists():
                policy.with_suffix(".partial").write_text(_POLICY)
                policy.with_suffix(".partial").replace(policy)
            return cls(storage=folder, driver="overlay" if _overlay_works(folder) else "vfs")

    def run(self, *arguments: str) -> str:
        """Standard output, stripped. Raises ImageError with what buildah said."""
        done = subprocess.run(self._command(arguments), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ImageError(f"buildah {arguments[0]} failed with exit code {done.returncode}:\n{done.stderr[-4000:]}")
        return done.stdout.strip()

    def follow(self, *arguments: str, say: Callable[[str], None]) -> None:
        """Passes every line on as it comes. Raises ImageError with the exit code."""
        with subprocess.Popen(
            self._command(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            for line in process.stdout or ():
                say(line.rstrip())
        if process.returncode != 0:
            raise ImageError(f"buildah {arguments[0]} failed with exit code {process.returncode}; see the lines above")

    def has_image(self, name: str) -> bool:
        return name in self.run("images", "--format", "{{.Name}}:{{.Tag}}").splitlines()

    def _command(self, arguments: Sequence[str]) -> list[str]:
        command, *options = arguments
        takes_policy = command in ("build", "from", "push", "commit")
        # In a mount namespace of its own: what a failed or killed buildah leaves mounted ends with it.
        return [
            *("unshare", "--mount", "--propagation", "private", "buildah"),
            *("--root", str(self.storage / "root"), "--runroot", str(self.storage / "run")),
            *("--storage-driver", self.driver, command),
            *(("--signature-policy", str(self.storage / "policy.json")) if takes_policy else ()),
            *options,
        ]


def _overlay_works(folder: Path) -> bool:
    """Mounts one, in a mount namespace of its own so that nothing is left."""
    for name in ("lower", "upper", "work", "merged"):
        (folder / "overlay-probe" / name).mkdir(parents=True, exist_ok=True)
    mount = "mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount], cwd=folder / "overlay-probe", capture_output=True, check=False
    )
    return done.returncode == 0
