"""The file that the server reads (docs/interfaces.md, section 1): values in, bytes out. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from client.errors import Refused

FILE_NAME = "calibration.json"
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Artefact:
    """temperatures: by type of question, the kept ones alone, at least one."""

    version: str
    gguf_sha256: str
    prompt_version: str
    readout: str
    temperatures: Mapping[str, float]


def artefact(
    *, version: str | None, gguf_sha256: str, prompt_version: str, readout: str, temperatures: Mapping[str, float]
) -> Artefact:
    """version: None makes one of what the artefact says, so that two that say the same have the same.

    Raises Refused for a version that the server does not read.
    """
    if version is not None:
        check_version(version)
    says = [gguf_sha256, prompt_version, readout, dict(sorted(temperatures.items()))]
    own = f"fit-{hashlib.sha256(json.dumps(says).encode()).hexdigest()[:12]}"
    return Artefact(
        version=own if version is None else version,
        gguf_sha256=gguf_sha256,
        prompt_version=prompt_version,
        readout=readout,
        temperatures=dict(sorted(temperatures.items())),
    )


def artefact_bytes(made: Artefact) -> bytes:
    return (json.dumps({"calibration_version": 1, **asdict(made)}, indent=2, sort_keys=True) + "\n").encode()


def check_version(version: str) -> None:
    if not _VERSION.fullmatch(version):
        raise Refused(f"--version {version[:80]!r}: 1 to 64 of A-Z a-z 0-9 . _ + - are needed, a letter or digit first")
