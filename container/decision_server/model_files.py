"""Finds the model's files and proves that they are the right ones, before any native code sees a byte of them.

Knows the manifest of the model archive (docs/interfaces.md, section 1). Leaves loading to the engine. Whole files are
hashed first, not while they load: a parser must not be fed a file that is not the declared one, and the reading warms
the page cache that the load needs anyway (docs/decisions/0003-verify-before-loading.md). Then `gguf_check` walks the
tables at their start.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decision_server import gguf_check
from decision_server.manifest import MANIFEST, field, list_of, named, optional_text, read_manifest, shown
from decision_server.model_errors import StartupFailure

_log = logging.getLogger(__name__)
_MAGIC = b"GGUF"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")  # a declaration's rule
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,204}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"(?P<stem>.+)-[0-9]{5}-of-(?P<count>0*[1-9][0-9]?)\.gguf")
_MAX_CALIBRATION_BYTES = 1 << 20
_BLOCK = 1 << 23  # read and hashed without the interpreter's lock, which other threads want meanwhile


@dataclass(frozen=True, kw_only=True)
class GgufFile:
    """The weights: name, size in bytes and SHA-256 (64 hex), as found on the disk and verified.

    Of a split model: path and file are the first part's, beside which llama.cpp finds the others by their names; bytes
    are all of them together, sha256 is that of their `sha256sum` lines (docs/interfaces.md, section 1).
    token_values: keys and values that a context keeps of a token, at least.
    """

    path: Path
    file: str
    bytes: int
    sha256: str
    token_values: int


@dataclass(frozen=True, kw_only=True)
class ServingDefaults:
    """What the manifest proposes; a setting of the container wins. `n_ctx` is None without a manifest."""

    readout: str
    prompt_version: str
    n_ctx: int | None


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """A model that may be loaded. `calibration` is the verified artefact beside the weights, where there is one."""

    name: str
    gguf: GgufFile
    serving: ServingDefaults
    repo: str | None = None
    revision: str | None = None
    calibration: Path | None = None


def find(path: Path, *, gguf_sha256: str | None = None) -> ModelFiles:
    """A folder with `manifest.json`, or one `.gguf` file → verified files. Raises StartupFailure.

    gguf_sha256: what the weights must have, whatever a manifest beside them says: it came with them, and who can change
    them can change it. None: not pinned.
    """
    if path.is_dir():
        return _from_manifest(path, read_manifest(path), gguf_sha256)
    if path.is_file() and path.suffix == ".gguf":
        files = [
            _File(path=each, file=each.name, bytes=each.stat().st_size, sha256=_checked_hash(each))
            for each in _beside(path)
        ]
        serving = ServingDefaults(readout="letters", prompt_version="direct-options-v1", n_ctx=None)
        return ModelFiles(name=path.stem, gguf=_weights(files, gguf_sha256), serving=serving)
    found = "a file of another kind" if path.exists() else "nothing"
    raise StartupFailure(f"model: {path} is {found}; a folder with {MANIFEST} or a .gguf file is needed")


def _from_manifest(folder: Path, manifest: dict[str, Any], gguf_sha256: str | None) -> ModelFiles:
    entry = manifest.get("gguf")
    weights = [_verified(folder, entry, "gguf", _MAGIC)]
    for number, part in enumerate(list_of(entry, "parts")):
        weights.append(_verified(folder, part, f"gguf.parts[{number}]", _MAGIC))
    calibration = None
    if manifest.get("calibration") is not None:
        calibration = _verified(folder, manifest["calibration"], "calibration", b"").path
        if calibration.stat().st_size > _MAX_CALIBRATION_BYTES:
            raise StartupFailure(f"model: {calibration} has more than {_MAX_CALIBRATION_BYTES} bytes; it is read whole")
    others = [  # for other tools; what is listed must be what is there
        _verified(folder, file, f"tokenizer[{number}]", b"").file
        for number, file in enumerate(list_of(manifest, "tokenizer"))
    ]
    serving = field(manifest, "serving", dict)
    name = field(manifest, "name", str)
    if not _NAME.fullmatch(name):
        raise StartupFailure(
            f"model: {MANIFEST}: name is {shown(name)}; it stands in every answer: 1 to 63 of a-z 0-9 . _ - are needed,"
            " beginning with a letter or digit"
        )
    gguf = _weights(weights, gguf_sha256)
    known = {MANIFEST, *others, *(each.file for each in weights), *([calibration.name] if calibration else [])}
    strangers = [entry.name for entry in folder.iterdir() if entry.name not in known]
    if strangers:
        _log.warning(
            "model: %s holds what %s does not list, and it is not used: %s", folder, MANIFEST, named(strangers)
        )
    return ModelFiles(
        name=name,
        gguf=gguf,
        serving=ServingDefaults(
            readout=field(serving, "readout", str),
            prompt_version=field(serving, "prompt_version", str),
            n_ctx=field(serving, "n_ctx", int),
        ),
        repo=optional_text(manifest, "repo"),
        revision=optional_text(manifest, "revision"),
        calibration=calibration,
    )


@dataclass(frozen=True, kw_only=True)
class _File:
    path: Path
    file: str
    bytes: int
    sha256: str


def _beside(path: Path) -> list[Path]:
    """A bare file, and the further parts beside it where its name says that it is the first of some."""
    match = _PART.fullmatch(path.name)
    if match is None:
        return [path]
    count = int(match["count"])
    paths = [path.with_name(f"{match['stem']}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    missing = [each.name for each in paths if not each.is_file()]
    if path not in paths[:1] or missing:
        raise StartupFailure(f"model: {path}: the first of {count} parts is needed; missing here: {missing}")
    return paths


def _weights(files: list[_File], pinned: str | None) -> GgufFile:
    """The parts of one model, in order. Raises StartupFailure where they are not `pinned`, or not by a header."""
    lines = "".join(f"{each.sha256}  {each.file}\n" for each in files)
    sha256 = files[0].sha256 if len(files) == 1 else hashlib.sha256(lines.encode()).hexdigest()
    if pinned not in {None, sha256}:
        raise StartupFailure(
            f"DECISION_GGUF_SHA256: {pinned} is needed; the weights in {files[0].path} have {sha256}. Remedy: serve the"
            " model that was declared, or declare this one and deploy again"
        )
    token_values = 0
    for number, each in enumerate(files, 1):
        header = gguf_check.check(each.path)
        token_values += header.token_values
        split = header.split
        seen = "a whole model" if split is None else f"part {split.number} of {split.count}"
        needed = "a whole model" if len(files) == 1 else f"part {number} of {len(files)}"
        if seen != needed:
            raise StartupFailure(f"model: {each.path} is {seen} by its header; {needed} is needed here")
    if len(files) > 1 and [each.path for each in files] != _beside(files[0].path):
        named = ", ".join(each.file for each in files)
        raise StartupFailure(
            f"model: the parts are named {named}; NAME-00001-of-{len(files):05}.gguf and so on are needed, since"
            " llama.cpp finds them by these names and would read other files than were verified"
        )
    return GgufFile(
        path=files[0].path,
        file=files[0].file,
        bytes=sum(each.bytes for each in files),
        sha256=sha256,
        token_values=token_values,
    )


def _verified(folder: Path, entry: object, what: str, magic: bytes) -> _File:
    if not isinstance(entry, dict):
        raise StartupFailure(f"model: {MANIFEST}: {what} is {type(entry).__name__}; an object is needed")
    name = field(entry, "file", str)
    size = field(entry, "bytes", int)
    sha256 = field(entry, "sha256", str)
    if not _PLAIN.fullmatch(name):
        raise StartupFailure(f"model: {MANIFEST}: {what}.file is {shown(name)}; a plain file name is needed")
    if not _SHA256.fullmatch(sha256):
        raise StartupFailure(
            f"model: {MANIFEST}: {what}.sha256 is {shown(sha256)}; 64 lower-case hex digits are needed"
        )
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise StartupFailure(f"model: {path} is named by {MANIFEST} and is not a regular file here")
    if path.stat().st_size != size:
        raise StartupFailure(f"model: {path} has {path.stat().st_size} bytes; {MANIFEST} says {size}")
    found = _checked_hash(path, magic)
    if found != sha256:
        raise StartupFailure(f"model: {path} has sha256 {found}; {MANIFEST} says {sha256}")
    return _File(path=path, file=name, bytes=size, sha256=sha256)


def _checked_hash(path: Path, magic: bytes = _MAGIC) -> str:
    digest = hashlib.sha256()
    # One piece of memory of its own, given back whole: freed blocks of this size would stay in the heap.
    with path.open("rb", buffering=0) as file, mmap.mmap(-1, _BLOCK) as block, memoryview(block) as view:
        count = file.readinto(view)
        begins = bytes(view[: min(count, len(_MAGIC))])
        if not begins.startswith(magic):
            raise StartupFailure(f"model: {path} begins with {begins!r}; a GGUF file begins with {magic!r}")
        while count:
            digest.update(view[:count])
            count = file.readinto(view)
    return digest.hexdigest()
